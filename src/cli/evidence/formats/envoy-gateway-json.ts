/** Envoy Gateway: its default JSON. */
import type { LogFormat } from './log-format.ts';
import { jsonFormat } from './parts/json-format.ts';

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
