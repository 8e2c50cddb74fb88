/** Envoy: the default text of its access log, and that of Istio. */
import type { LogFormat } from './log-format.ts';
import { textFormat } from './parts/text-format.ts';

const REQUEST = '[$time_iso8601] "$request" $status $response_flags';
const CLIENT =
  '"$proxy_add_x_forwarded_for" "$http_user_agent" "$request_id" "$host" "$upstream_host"';

export const envoyText: LogFormat = textFormat({
  name: 'envoy-text',
  title: 'Envoy, text',
  layouts: [
    `${REQUEST} $bytes_received $bytes_sent $duration $upstream_service_time ${CLIENT}`,
    `${REQUEST} $response_code_details $connection_termination_details "$upstream_failure" $bytes_received $bytes_sent $duration $upstream_service_time ${CLIENT} $upstream_cluster $upstream_local_address $downstream_local_address $remote_addr $requested_server_name $route_name`,
  ],
  escapes: 'none',
  stampIs: 'start',
  precisionMs: 1,
  address:
    'the last entry of X-Forwarded-For, which Envoy adds with `use_remote_address: true`; in the text of Istio, the downstream remote address',
  samples: [
    '[2026-01-05T10:20:30.123Z] "GET /search?q=1 HTTP/1.1" 200 - 0 512 12 11 "198.51.100.7,203.0.113.9" "curl/8.5.0" "5f3c1f0e-7b1c-4a55-9d0a-0d8f4c1b2a3e" "shop.example" "10.0.0.5:8080"',
    '[2026-01-05T10:20:30.123Z] "POST /login HTTP/2" 429 UAEX 10 95 2 - "203.0.113.9" "curl/8.5.0" "5f3c1f0e-7b1c-4a55-9d0a-0d8f4c1b2a3e" "shop.example" "-"',
    '[2026-01-05T10:20:30.123Z] "GET / HTTP/1.1" 200 - via_upstream - "-" 0 512 12 11 "203.0.113.9" "curl/8.5.0" "5f3c1f0e-7b1c-4a55-9d0a-0d8f4c1b2a3e" "shop.example" "10.0.0.5:8080" inbound|8080|| 127.0.0.6:40000 10.0.0.5:8080 203.0.113.9:51234 - default',
  ],
  notes: [
    'The default text has no address but X-Forwarded-For. Without `use_remote_address`, clients can write what they want there.',
    'The flag `UAEX` marks what an external authorization denied.',
  ],
});
