/** ingress-nginx: its default `upstreaminfo`. */
import type { LogFormat } from './log-format.ts';
import { textFormat } from './parts/text-format.ts';

export const ingressNginx: LogFormat = textFormat({
  name: 'ingress-nginx',
  title: 'ingress-nginx',
  layouts: [
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] $upstream_addr $upstream_response_length $upstream_response_time $upstream_status $req_id',
  ],
  escapes: 'backslash',
  stampIs: 'end',
  precisionMs: 1000,
  address: '`$remote_addr`: the peer, or what `use-forwarded-headers` found',
  samples: [
    '203.0.113.9 - - [05/Jan/2026:10:20:30 +0000] "GET /search?q=1 HTTP/1.1" 200 512 "-" "curl/8.5.0" 120 0.012 [shop-web-80] [] 10.0.0.5:8080 512 0.012 200 5f3c1f0e7b1c4a559d0a0d8f4c1b2a3e',
    '203.0.113.9 - - [05/Jan/2026:10:20:30 +0000] "GET / HTTP/1.1" 502 150 "-" "curl/8.5.0" 120 0.012 [shop-web-80] [] 10.0.0.5:8080, 10.0.0.6:8080 0, 0 0.001, 0.002 502, 502 5f3c1f0e7b1c4a559d0a0d8f4c1b2a3e',
  ],
  notes: ['The start is the end minus `$request_time`. The lines have no host.'],
});
