/** Apache httpd: `combined`, `vhost_combined` and `common`. */
import type { LogFormat } from './log-format.ts';
import { combinedScanner } from './parts/combined-scanner.ts';
import { textFormat } from './parts/text-format.ts';

const COMMON = '$remote_addr $ident $remote_user [$time_local] "$request" $status $body_bytes_sent';
const COMBINED = `${COMMON} "$http_referer" "$http_user_agent"`;

/** No request with 408, `-` for no bytes, no referer and agent at all, its spelling of escapes, an identity. */
const PROOF =
  /\] "-" (?:408|400) |" \d{3} - "|" \d{3} (?:\d+|-)$|\\["\\ntbrfv]|\\x(?:[0-9a-f][a-f]|[a-f][0-9a-f])|^\S+ (?!- )\S+ \S+ \[|^[a-z][\w-]*\.[\w.-]*[a-z] - |\(internal dummy connection\)/;
const HOST_AND_PORT = /^\S+:\d+ \S+ \S+ \S+ \[/;

export const apacheCombined: LogFormat = textFormat({
  name: 'apache-combined',
  title: 'Apache httpd, combined',
  layouts: [`$host_port ${COMBINED}`, COMBINED, COMMON],
  escapes: 'backslash',
  fast: combinedScanner,
  stampIs: 'start',
  precisionMs: 1000,
  address: '`%h`: the peer, or what mod_remoteip found; a name if HostnameLookups is on',
  samples: [
    '203.0.113.9 - alice [05/Jan/2026:10:20:30 +0100] "GET /search?q=1 HTTP/1.1" 304 - "https://shop.example/" "curl/8.5.0"',
    '203.0.113.9 - - [05/Jan/2026:10:20:30 +0000] "GET / HTTP/1.1" 200 615 "-" "Mozilla/5.0 \\"quoted\\""',
    '203.0.113.9 - - [05/Jan/2026:10:20:30 +0000] "-" 408 - "-" "-"',
    'shop.example:443 203.0.113.9 - - [05/Jan/2026:10:20:30 +0000] "GET / HTTP/1.1" 200 615 "-" "curl/8.5.0"',
    '203.0.113.9 - - [05/Jan/2026:10:20:30 +0000] "GET / HTTP/1.0" 200 615',
  ],
  notes: [
    'Apache writes a line when the request ends, with the time of its start. Lines are therefore out of order.',
    '`vhost_combined` and `common` are also read. Only `vhost_combined` has a host: the name of the virtual host.',
  ],
  twin: 'nginx-combined',
  isProof: (line) => PROOF.test(line) || HOST_AND_PORT.test(line),
});

const FORWARDED = ['"$http_x_forwarded_for"', '$http_x_forwarded_for'];

export const apacheForwarded: LogFormat = textFormat({
  name: 'apache-forwarded',
  title: 'Apache httpd, combined behind X-Forwarded-For',
  layouts: [
    ...FORWARDED.flatMap((first) => [`${first} ${COMBINED}`, `${first} ${COMMON}`]),
    COMBINED.replace('$remote_addr', '"$http_x_forwarded_for"'),
  ],
  escapes: 'backslash',
  stampIs: 'start',
  precisionMs: 1000,
  address: 'the last entry of `%{X-Forwarded-For}i`; `%h` if there is none',
  isForwardedFirst: true,
  samples: [
    '198.51.100.7, 203.0.113.9 10.0.0.5 - - [05/Jan/2026:10:20:30 +0000] "GET /search?q=1 HTTP/1.1" 304 - "-" "curl/8.5.0"',
    '"203.0.113.9" 10.0.0.5 - - [05/Jan/2026:10:20:30 +0000] "GET / HTTP/1.1" 200 615',
    '- 203.0.113.9 - - [05/Jan/2026:10:20:30 +0000] "GET / HTTP/1.1" 304 - "-" "curl/8.5.0"',
  ],
  notes: [
    'For a LogFormat that begins with `%{X-Forwarded-For}i`, with or without quotes; also without a referer and agent. See [nginx-forwarded](#nginx-forwarded).',
  ],
  twin: 'nginx-forwarded',
  isProof: (line) => PROOF.test(line),
});
