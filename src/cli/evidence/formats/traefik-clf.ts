/** Traefik: its default text, the common log format and more. */
import type { LogFormat } from './log-format.ts';
import { textFormat } from './parts/text-format.ts';

const HEAD =
  '$proxy_add_x_forwarded_for - $remote_user [$time_local] "$request" $status $body_bytes_sent';
const TAIL = '$request_count "$router" "$server_url" $duration';

export const traefikClf: LogFormat = textFormat({
  name: 'traefik-clf',
  title: 'Traefik, CLF',
  layouts: [
    `${HEAD} "$http_referer" "$http_user_agent" ${TAIL}`,
    // Traefik 1 writes no quotes where there is nothing.
    `${HEAD} - "$http_user_agent" ${TAIL}`,
    `${HEAD} - - ${TAIL}`,
  ],
  escapes: 'none',
  stampIs: 'start',
  precisionMs: 1000,
  address:
    'the address that connected to Traefik, or X-Forwarded-For if the request had one: then its last entry',
  samples: [
    '203.0.113.9 - - [05/Jan/2026:10:20:30 +0000] "GET /search?q=1 HTTP/1.1" 200 512 "-" "curl/8.5.0" 17 "shop@docker" "http://10.0.0.5:8080" 12ms',
  ],
  notes: [
    'The address is what the client says, if it sends X-Forwarded-For and Traefik trusts its address. The JSON log has both.',
    'The lines have no host.',
  ],
});
