/** Traefik: its default text, the common log format and more, and its JSON. */
import type { LogFormat } from './log-format.ts';
import { jsonFormat } from './parts/json-format.ts';
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

export const traefikJson: LogFormat = jsonFormat({
  name: 'traefik-json',
  title: 'Traefik, JSON',
  keys: {
    time_iso8601: ['StartUTC', 'StartLocal'],
    request_method: ['RequestMethod'],
    request_uri: ['RequestPath'],
    host: ['RequestHost', 'RequestAddr'],
    remote_addr: ['ClientAddr'],
    // The raw X-Forwarded-For if the request had one, else the address that connected.
    proxy_add_x_forwarded_for: ['ClientHost'],
    status: ['DownstreamStatus', 'OriginStatus'],
    http_user_agent: ['request_User-Agent'],
  },
  marks: ['RequestMethod', 'RequestPath'],
  stampIs: 'start',
  precisionMs: 0.001,
  address: '`ClientAddr`: the address that connected to Traefik',
  samples: [
    '{"ClientAddr":"203.0.113.9:51234","ClientHost":"198.51.100.7","ClientPort":"51234","ClientUsername":"-","DownstreamContentSize":512,"DownstreamStatus":200,"Duration":12300000,"OriginStatus":200,"RequestAddr":"shop.example","RequestHost":"shop.example","RequestMethod":"GET","RequestPath":"/search?q=1","RequestProtocol":"HTTP/2.0","RouterName":"shop@docker","StartUTC":"2026-01-05T10:20:30.123456789Z","level":"info","msg":"","time":"2026-01-05T10:20:30Z"}',
  ],
  notes: [
    '`ClientHost` is X-Forwarded-For as the client sent it, if it sent one.',
    'Headers are only in the log if `accesslog.fields.headers` keeps them, as `request_NAME`: `--map api_key=request_X-Api-Key`.',
  ],
});
