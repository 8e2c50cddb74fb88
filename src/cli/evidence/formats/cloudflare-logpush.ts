/** Cloudflare: Logpush and Logpull, dataset `http_requests`. */
import type { LogFormat } from './log-format.ts';
import { jsonFormat } from './parts/json-format.ts';

export const cloudflareLogpush: LogFormat = jsonFormat({
  name: 'cloudflare-logpush',
  title: 'Cloudflare Logpush',
  keys: {
    time_any: ['EdgeStartTimestamp'],
    request_method: ['ClientRequestMethod'],
    request_uri: ['ClientRequestURI'],
    uri: ['ClientRequestPath'],
    host: ['ClientRequestHost'],
    remote_addr: ['ClientIP'],
    http_x_forwarded_for: ['ClientXForwardedFor'],
    status: ['EdgeResponseStatus'],
    http_user_agent: ['ClientRequestUserAgent'],
  },
  marks: ['ClientRequestMethod', 'EdgeStartTimestamp'],
  stampIs: 'start',
  precisionMs: 0.001,
  address: '`ClientIP`: the address that connected to Cloudflare',
  samples: [
    '{"ClientIP":"203.0.113.9","ClientRequestHost":"shop.example","ClientRequestMethod":"GET","ClientRequestURI":"/search?q=1","EdgeEndTimestamp":"2026-01-05T10:20:30.135Z","EdgeResponseBytes":512,"EdgeResponseStatus":200,"EdgeStartTimestamp":"2026-01-05T10:20:30.123Z","RayID":"3a6050bcbe121a87"}',
    '{"ClientIP":"203.0.113.9","ClientRequestHost":"shop.example","ClientRequestMethod":"POST","ClientRequestURI":"/login","ClientRequestUserAgent":"curl/8.5.0","EdgeResponseStatus":429,"EdgeStartTimestamp":1767608430123000000}',
  ],
  notes: [
    'Stamps may be nanoseconds, seconds or RFC 3339, as the job says. Lines come in no order.',
    'The log has what Cloudflare answered itself, from its cache for example: your proxy never saw those requests.',
  ],
});
