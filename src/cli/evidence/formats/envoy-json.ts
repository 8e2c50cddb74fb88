/** Envoy: JSON with the keys that its examples and Istio use. */
import type { LogFormat } from './log-format.ts';
import { jsonFormat } from './parts/json-format.ts';

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
