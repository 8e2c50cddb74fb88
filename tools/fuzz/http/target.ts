/** What the fuzzer sends to the HTTP ports of proxies: checks of all proxies, settlements, and calls of the rate limit service as JSON. */
import { HTTP_DIALECTS } from '../../../src/gateway/dialects/index.ts';
import type { Random } from '../../../test/support/random.ts';
import { type Plan, part, planOf, planOfBeginning } from '../plan.ts';
import { type Request, requestParts } from './request.ts';

const BEGINNING_EVERY = 4;

export function httpPlan(random: Random, i: number): Plan {
  if (i % BEGINNING_EVERY === 0) {
    const number = Math.floor(i / BEGINNING_EVERY);
    const [port, text] = ORDINARY[number % ORDINARY.length] as (typeof ORDINARY)[number];
    return planOfBeginning(port, [part('requests', text)], Math.floor(number / ORDINARY.length));
  }
  const port = random.next() < 0.75 ? 'check' : 'json';
  const make = port === 'check' ? checkPortOf : jsonCallOf;
  return planOf(
    random,
    port,
    requestParts(random, () => make(random)),
  );
}

const CHECK =
  'GET /envoy/a HTTP/1.1\r\nHost: a\r\nX-Headgate-Client-IP: 192.0.2.1\r\nContent-Length: 2\r\n\r\nok';
const CALL = '{"domain":"edge","descriptors":[{"entries":[{"key":"path","value":"/login"}]}]}';
const REPORT = '{"token":"a","status":200,"headers":{"x-login":"ok"},"units":{"tokens":812}}';
const SETTLE = `POST /settle HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${REPORT.length}\r\n\r\n${REPORT}`;
const ORDINARY = [
  ['check', CHECK + CHECK],
  [
    'check',
    'POST /nginx HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\nX-Original-URI: /a\r\n\r\n2\r\nok\r\n0\r\n\r\n',
  ],
  ['check', 'CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\nhello'],
  [
    'check',
    'GET /caddy HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x00',
  ],
  ['check', `${SETTLE}${CHECK}`],
  ['json', `POST /json HTTP/1.1\r\nHost: a\r\nContent-Length: ${CALL.length}\r\n\r\n${CALL}`],
] as const;

const MOUNTS = HTTP_DIALECTS.map(({ mount }) => mount);
const METHODS = ['GET', 'GET', 'GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'CONNECT'];
const TAILS = ['', '/', '/a', '/api/auth/login', '?a=b', '/a//b/../c;d', '*', '/%2e%2e/%252f'];
const ADDRESSES = [
  '192.0.2.1',
  '2001:db8::1',
  '::ffff:192.0.2.1',
  '',
  'unknown',
  '1, 2, 3',
  'a\xff',
];
const URIS = ['/a', '/api/auth/login', '', '*', 'http://a/b', '/%', 'a b', '/\xff', '/?', '//a'];
/** Headers that some proxy sends, with what values. */
const SENT: readonly (readonly [name: string, values: readonly string[]])[] = [
  ['X-Headgate-Peer-IP', ADDRESSES],
  ['X-Headgate-Client-IP', ADDRESSES],
  ['X-Headgate-Request-ID', ['1', '', 'a'.repeat(300)]],
  ['X-Real-IP', ADDRESSES],
  ['X-Forwarded-For', ADDRESSES],
  ['X-Forwarded-Method', METHODS],
  ['X-Original-Method', METHODS],
  ['X-Forwarded-Uri', URIS],
  ['X-Original-URI', URIS],
  ['X-Original-URL', ['http://a/b', 'https://a', '', 'x', ...URIS]],
  ['X-Forwarded-Host', ['a', '', 'a:b', 'a, b', '[::1]']],
  ['X-Forwarded-Proto', ['http', 'https', '']],
  ['X-API-Key', ['a', '', ' a ', 'k'.repeat(9_000)]],
  ['CF-Connecting-IP', ADDRESSES],
  ['traceparent', ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'x']],
];

function checkOf(random: Random): Request {
  const chance = random.next();
  return {
    method: random.oneOf(METHODS),
    target: random.oneOf(MOUNTS) + random.oneOf(TAILS),
    headers: SENT.filter(() => random.next() < chance).map(
      ([name, values]) => `${name}: ${random.oneOf(values)}`,
    ),
    body: random.next() < 0.7 ? '' : 'b'.repeat(random.below(3_000)),
  };
}

function checkPortOf(random: Random): Request {
  return random.next() < 0.8 ? checkOf(random) : settleOf(random);
}

const REPORTS = [
  REPORT,
  REPORT,
  `{"settlements":[${REPORT},${REPORT}]}`,
  `{"settlements":[${`${REPORT},`.repeat(99)}${REPORT}]}`,
  `{"settlements":[${`${REPORT},`.repeat(100)}${REPORT}]}`,
  '{"token":"a","units":{"tokens":9007199254740992}}',
  '{"token":"a","units":{"tokens":1,"tokens":2,"__proto__":3}}',
  '{"__proto__":{"token":"a"}}',
  `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`,
];

function settleOf(random: Random): Request {
  const type = random.oneOf(['application/json', 'application/json', 'text/plain', '']);
  return {
    method: random.oneOf(['POST', 'POST', 'POST', 'GET', 'HEAD', 'CONNECT']),
    target: random.oneOf(['/settle', '/settle', '/settle', '/settle?a', '/settle/']),
    headers: [`Content-Type: ${type}`, ...(random.next() < 0.1 ? ['Origin: http://b'] : [])],
    body: random.oneOf(random.next() < 0.7 ? REPORTS : BODIES),
  };
}

const BODIES = [
  CALL,
  '{}',
  '[]',
  'null',
  '"a"',
  '',
  '{"domain":1}',
  '{"domain":"edge","descriptors":{}}',
  '{"domain":"edge","descriptors":[null,1,[]]}',
  '{"domain":"edge","descriptors":[{"entries":[{"key":"user","value":"a"}],"hitsAddend":"99"}]}',
  '{"domain":"edge","descriptors":[{"entries":[{}],"limit":{"requestsPerUnit":-1,"unit":"X"}}]}',
  '{"__proto__":{"domain":"edge"},"hitsAddend":1e999}',
  `${'['.repeat(20_000)}`,
  `{"domain":"edge","descriptors":[${'{"entries":[{"key":"user","value":"a"}]},'.repeat(500)}{}]}`,
  '\xff\xfe\x00',
  'x'.repeat(600_000),
];

function jsonCallOf(random: Random): Request {
  const type = random.oneOf(['application/json', 'text/plain', '', 'multipart/form-data', 'a/b;c']);
  return {
    method: random.oneOf(['POST', 'POST', 'POST', 'GET', 'HEAD', 'OPTIONS']),
    target: random.oneOf(['/json', '/json', '/json', '/healthcheck', '/json/', '/', '/envoy/a']),
    headers: [`Content-Type: ${type}`, ...(random.next() < 0.1 ? ['Origin: http://b'] : [])],
    body: random.oneOf(BODIES),
  };
}
