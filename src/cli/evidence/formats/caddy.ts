/** Caddy: the JSON of its access log. */
import { isRecord } from '../../../gateway/core/is-record.ts';
import type { LogFormat } from './log-format.ts';
import { jsonFormat } from './parts/json-format.ts';
import type { JsonObject } from './parts/json-path.ts';

export const caddyJson: LogFormat = jsonFormat({
  name: 'caddy-json',
  title: 'Caddy, JSON',
  keys: {
    time_any: ['ts'],
    request_time: ['duration'],
    request_method: ['request.method'],
    request_uri: ['request.uri'],
    host: ['request.host'],
    remote_addr: ['request.remote_ip', 'request.remote_addr'],
    http_x_forwarded_for: ['request.headers.X-Forwarded-For'],
    status: ['status'],
    http_user_agent: ['request.headers.User-Agent'],
  },
  marks: ['ts', 'request.uri'],
  isOther,
  hidden: 'REDACTED',
  stampIs: 'end',
  precisionMs: 0.001,
  address: '`request.remote_ip`: the address that connected to Caddy',
  samples: [
    '{"level":"info","ts":1767608430.123456,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"203.0.113.9","remote_port":"51234","client_ip":"203.0.113.9","proto":"HTTP/2.0","method":"GET","host":"shop.example","uri":"/search?q=1","headers":{"User-Agent":["curl/8.5.0"],"X-Api-Key":["k1"]}},"bytes_read":0,"user_id":"","duration":0.0123,"size":512,"status":200,"resp_headers":{}}',
  ],
  notes: [
    'Caddy writes a line at the end of a request, with its duration: the start is computed.',
    'Headers are there as `request.headers.NAME`. Cookie, Authorization and the like are hidden unless Caddy has `log_credentials`.',
    'Other messages of Caddy in the same log are counted as lines without a request.',
  ],
});

/** What Caddy also writes with these keys. It writes errors a second time, among the requests. */
function isOther({ level, ts, msg, logger, request }: JsonObject): boolean {
  if (level === undefined || ts === undefined || msg === undefined) return false;
  return !isRecord(request) || (typeof logger === 'string' && logger.startsWith('http.log.error'));
}
