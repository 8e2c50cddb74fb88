/** NGINX: `combined`, JSON, the format of ingress-nginx, and a `log_format` given on the command line. */
import { ConfigError } from '../../../gateway/config/diagnostic.ts';
import type { LogFormat } from './log-format.ts';
import { combinedScanner } from './parts/combined-scanner.ts';
import type { Variable } from './parts/entry-maker.ts';
import { jsonFormat } from './parts/json-format.ts';
import { Layout } from './parts/layout.ts';
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
  twin: 'apache-combined',
  isProof: (line) => PROOF.test(line),
});

const FORWARDED = ['"$http_x_forwarded_for"', '$http_x_forwarded_for'];

export const nginxForwarded: LogFormat = textFormat({
  name: 'nginx-forwarded',
  title: 'NGINX, combined behind X-Forwarded-For',
  layouts: [
    ...FORWARDED.map((first) => `${first} ${COMBINED}`),
    COMBINED.replace('$remote_addr', '"$http_x_forwarded_for"'),
  ],
  escapes: 'backslash',
  stampIs: 'end',
  precisionMs: 1000,
  address: 'the last entry of `$http_x_forwarded_for`; `$remote_addr` if there is none',
  isForwardedFirst: true,
  samples: [
    '203.0.113.9 10.0.0.5 - - [05/Jan/2026:10:20:30 +0000] "GET /search?q=1 HTTP/1.1" 499 0 "-" "curl/8.5.0"',
    '"198.51.100.7, 203.0.113.9" 10.0.0.5 - - [05/Jan/2026:10:20:30 +0000] "GET /a\\x22b HTTP/1.1" 200 615 "-" "curl/8.5.0"',
    '"203.0.113.9" - alice [05/Jan/2026:10:20:30 +0000] "GET /search?q=1 HTTP/1.1" 499 0 "-" "curl/8.5.0"',
  ],
  notes: [
    'For a log_format that begins with X-Forwarded-For, with or without quotes. A load balancer appends the address that connected to it, so the last entry is the client.',
    'A gateway finds the same clients only if the policy file trusts the load balancer: name it in `identity.trusted_proxies`.',
  ],
  twin: 'apache-forwarded',
  isProof: (line) => PROOF.test(line),
});

const keysOf = (names: Readonly<Partial<Record<Variable, string>>>) =>
  Object.fromEntries(Object.entries(names).map(([variable, keys]) => [variable, keys.split(' ')]));

export const nginxJson: LogFormat = jsonFormat({
  name: 'nginx-json',
  title: 'NGINX, JSON',
  keys: keysOf({
    msec: 'msec',
    time_iso8601: 'time_iso8601 timestamp_iso8601 iso8601',
    time_local: 'time_local local_time',
    time_any: 'time timestamp @timestamp ts date datetime',
    request_time: 'request_time requestTime reqtime',
    request_method: 'request_method requestMethod method verb http_method',
    request_uri: 'request_uri requestUri request_url url http_url request_path path',
    uri: 'uri document_uri',
    args: 'args query_string request_query query',
    request: 'request request_line',
    host: 'host http_host httpHost vhost domain hostname',
    remote_addr: 'remote_addr remoteAddr remote_ip client_ip clientip clientIp client ip',
    realip_remote_addr: 'realip_remote_addr',
    http_x_forwarded_for: 'http_x_forwarded_for x_forwarded_for xff x-forwarded-for forwarded_for',
    proxy_add_x_forwarded_for: 'proxy_add_x_forwarded_for',
    status: 'status status_code response_status response_code response http_status',
    http_user_agent: 'http_user_agent user_agent userAgent user-agent useragent agent ua',
  }),
  marks: [],
  stampIs: 'end',
  precisionMs: 1000,
  address: '`remote_addr`, `client_ip` or the like',
  samples: [
    '{"time_iso8601":"2026-01-05T10:20:30+00:00","remote_addr":"203.0.113.9","request":"GET /search?q=1 HTTP/1.1","status":"200","http_user_agent":"curl/8.5.0"}',
    '{"msec":"1767608430.123","request_time":"0.045","remote_addr":"203.0.113.9","request_method":"GET","request_uri":"/search?q=1","host":"shop.example","status":429}',
    '{"@timestamp":"2026-01-05T10:20:30+00:00","client_ip":"203.0.113.9","method":"GET","path":"/search","status":200}',
  ],
  notes: [
    'Keys are read by their names: those of the variables, and obvious ones such as `client_ip`, `method` and `url`. For other keys give the whole `log_format` string to `--format`.',
    'The start is known to the millisecond if the lines have `msec` and `request_time`; with `time_iso8601` or `time_local` stamps have whole seconds, and without `request_time` they mean the end.',
  ],
});

export const ingressNginx: LogFormat = textFormat({
  name: 'ingress-nginx',
  title: 'ingress-nginx',
  layouts: [
    `${COMBINED} $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] $upstream_addr $upstream_response_length $upstream_response_time $upstream_status $req_id`,
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

/** A whole directive, or what stands between its quotes; `escape=` may stand before it. */
const DIRECTIVE = /^\s*log_format\s+\S+\s+/;
const ESCAPE = /^\s*escape=(default|json|none)\s+/;

const STAMPS = ['msec', 'time_iso8601', 'time_local'];
const ADDRESSES = [
  'remote_addr',
  'realip_remote_addr',
  'proxy_add_x_forwarded_for',
  'http_x_forwarded_for',
];

/** Throws a ConfigError if the string has no time or no request. */
export function nginxLogFormat(name: string): LogFormat {
  const withoutName = name.replace(DIRECTIVE, '');
  const escapes = ESCAPE.exec(withoutName)?.[1] === 'none' ? 'none' : 'backslash';
  const source = unquoted(withoutName.replace(ESCAPE, ''));
  const names = new Set(new Layout(source, escapes).names);
  const mistakes = mistakesOf(names);
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  const addresses = ADDRESSES.filter((each) => names.has(each));
  const [first] = names;
  return textFormat({
    name,
    title: 'NGINX, the given log_format',
    layouts: [source],
    escapes,
    stampIs: 'end',
    precisionMs: names.has('msec') ? 1 : 1000,
    address: addresses.length === 0 ? 'none' : `\`$${addresses[0]}\``,
    isForwardedFirst: first === 'http_x_forwarded_for' && names.has('remote_addr'),
    samples: [],
    notes: [],
  });
}

/** The texts of a directive: `'$a ' '$b';` is `$a $b`. */
function unquoted(text: string): string {
  if (!/^\s*'/.test(text)) return text;
  return [...text.matchAll(/'((?:[^'\\]|\\.)*)'/g)]
    .map(([, part = '']) => part.replace(/\\(['\\])/g, '$1'))
    .join('');
}

function mistakesOf(names: ReadonlySet<string>): string[] {
  const mistakes: string[] = [];
  if (!STAMPS.some((name) => names.has(name))) {
    mistakes.push(
      '--format: the log_format has no time; it needs $msec, $time_iso8601 or $time_local',
    );
  }
  const hasTarget = names.has('request_uri') || names.has('uri');
  if (!names.has('request') && !(names.has('request_method') && hasTarget)) {
    mistakes.push(
      '--format: the log_format has no request; it needs $request, or $request_method and $request_uri',
    );
  }
  return mistakes;
}
