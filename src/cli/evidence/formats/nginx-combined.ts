/** NGINX: `combined`, and `main` as its packages and its image ship it. */
import type { LogFormat } from './log-format.ts';
import { combinedScanner } from './parts/combined-scanner.ts';
import { textFormat } from './parts/text-format.ts';

const COMBINED =
  '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"';

/** Statuses that only NGINX has, an empty request, its spelling of escapes. */
const PROOF = /\] "" \d{3} |" (?:444|49[4-9]|000) \d+ "|\\x(?:22|5C|[0-9A-F][A-F]|[A-F][0-9A-F])/;

export const nginxCombined: LogFormat = textFormat({
  name: 'nginx-combined',
  title: 'NGINX, combined',
  layouts: [COMBINED, `${COMBINED} "$http_x_forwarded_for"`, `$host_port ${COMBINED}`],
  escapes: 'backslash',
  fast: combinedScanner,
  stampIs: 'end',
  precisionMs: 1000,
  address: '`$remote_addr`: the peer, or what the realip module found',
  samples: [
    '203.0.113.9 - alice [05/Jan/2026:10:20:30 +0100] "GET /search?q=1 HTTP/1.1" 499 0 "https://shop.example/" "curl/8.5.0"',
    '203.0.113.9 - - [05/Jan/2026:10:20:30 +0000] "GET / HTTP/2.0" 200 615 "-" "Mozilla/5.0 \\x22quoted\\x22" "198.51.100.7"',
    '203.0.113.9 - - [05/Jan/2026:10:20:30 +0000] "\\x16\\x03\\x01\\x02\\x00\\x01\\x00\\x01\\xFC" 400 157 "-" "-"',
    '203.0.113.9 - - [05/Jan/2026:10:20:30 +0000] "" 400 0 "-" "-"',
  ],
  notes: [
    'Requests are counted at their end, because the lines have no duration. A `log_format` with `$msec` and `$request_time` gives the start to the millisecond.',
    'The lines have no host. Lines with the host before the address, and the format `main` of the NGINX packages with X-Forwarded-For at the end, are also read.',
  ],
  isProof: (line) => PROOF.test(line),
});
