/** Envoy, and Envoy Gateway. */
import type { LogFormat } from './log-format.ts';
import { jsonFormat } from './parts/json-format.ts';
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

export const envoyJson: LogFormat = jsonFormat({
  name: 'envoy-json',
  title: 'Envoy, JSON',
  keys: {
    time_any: ['start_time', 'startTime'],
    request_method: ['method', 'req_method', 'request_method'],
    request_uri: ['path', 'original_path', 'req_path', 'request_path'],
    host: ['authority', 'host', 'req_authority'],
    remote_addr: [
      'downstream_remote_address',
      'downstream_remote_address_without_port',
      'client_ip',
    ],
    proxy_add_x_forwarded_for: ['x_forwarded_for', 'forwarded_for', 'xff'],
    status: ['response_code', 'status', 'responseCode'],
    http_user_agent: ['user_agent', 'userAgent'],
  },
  marks: ['start_time'],
  stampIs: 'start',
  precisionMs: 1,
  address: '`downstream_remote_address`, else the last entry of `x_forwarded_for`',
  samples: [
    '{"start_time":"2026-01-05T10:20:30.123Z","method":"GET","path":"/search?q=1","protocol":"HTTP/1.1","response_code":200,"response_flags":"-","bytes_received":0,"bytes_sent":512,"duration":12,"x_forwarded_for":"198.51.100.7,203.0.113.9","user_agent":"curl/8.5.0","request_id":"5f3c1f0e","authority":"shop.example","upstream_host":"10.0.0.5:8080","downstream_remote_address":"203.0.113.9:51234"}',
  ],
  notes: [
    'Envoy has no default keys: these are the ones of its documentation and of Istio. For others, rename the keys in Envoy: `start_time`, `method`, `path`, `authority`, `response_code`, `x_forwarded_for`, `user_agent`, `downstream_remote_address`.',
  ],
});

export const envoyGatewayJson: LogFormat = jsonFormat({
  name: 'envoy-gateway-json',
  title: 'Envoy Gateway, JSON',
  keys: {
    time_iso8601: ['start_time'],
    request_method: ['method'],
    request_uri: ['x-envoy-origin-path'],
    host: [':authority'],
    remote_addr: ['downstream_remote_address'],
    proxy_add_x_forwarded_for: ['x-forwarded-for'],
    status: ['response_code'],
    http_user_agent: ['user-agent'],
  },
  marks: ['start_time', 'x-envoy-origin-path'],
  stampIs: 'start',
  precisionMs: 1,
  address: '`downstream_remote_address`, else the last entry of `x-forwarded-for`',
  samples: [
    '{":authority":"shop.example","bytes_received":0,"bytes_sent":512,"downstream_local_address":"10.0.0.2:10080","downstream_remote_address":"203.0.113.9:51234","duration":12,"method":"GET","protocol":"HTTP/1.1","response_code":200,"response_flags":"-","start_time":"2026-01-05T10:20:30.123Z","upstream_host":"10.0.0.5:8080","user-agent":"curl/8.5.0","x-envoy-origin-path":"/search?q=1","x-forwarded-for":"203.0.113.9","x-request-id":"5f3c1f0e"}',
  ],
  notes: [
    'Lines from `kubectl logs` and from files of containerd (`... stdout F {`) are read alike.',
  ],
});
