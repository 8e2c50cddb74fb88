/** HAProxy: `option httplog` and `option httpslog`. */
import type { LogFormat } from './log-format.ts';
import { textFormat } from './parts/text-format.ts';

const HEAD =
  '$remote_addr_port [$time_local] $frontend $server $timers $status $bytes_read $request_cookie $response_cookie $termination_state $connections $queues';
const CAPTURES = ['', ' {$capture_request} {$capture_response}', ' {$capture_request}'];

export const haproxyHttplog: LogFormat = textFormat({
  name: 'haproxy-httplog',
  title: 'HAProxy, httplog',
  layouts: CAPTURES.flatMap((captures) => [
    `${HEAD}${captures} "$request"`,
    `${HEAD}${captures} "$request" $tls_errors $tls`,
  ]),
  lists: { capture_request: 'capture.request.N', capture_response: 'capture.response.N' },
  escapes: 'hash',
  stampIs: 'start',
  precisionMs: 1,
  lacksZone: true,
  address: 'the address that connected to HAProxy',
  samples: [
    '203.0.113.9:51234 [05/Jan/2026:10:20:30.123] www~ app/srv1 0/0/1/11/12 200 512 - - ---- 1/1/0/0/0 0/0 "GET /search?q=1 HTTP/1.1"',
    'Jan  5 10:20:30 lb haproxy[1234]: 203.0.113.9:51234 [05/Jan/2026:10:20:30.123] www app/srv1 0/0/1/11/+12 200 +512 - - ---- 1/1/0/0/0 0/0 {shop.example|k1} {} "POST /login HTTP/1.1"',
  ],
  notes: [
    'Stamps are in the local time of the machine, without a zone: name it with `--tz`.',
    'Captured headers are `capture.request.0`, `capture.request.1` and so on, in the order of `http-request capture`. The lines have no host.',
    'Requests are cut at 1,024 characters, unless `tune.http.logurilen` says otherwise.',
  ],
});
