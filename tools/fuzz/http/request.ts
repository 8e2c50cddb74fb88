/** Requests of HTTP/1, valid and broken: https://www.rfc-editor.org/rfc/rfc9112 */
import type { Random } from '../../../test/support/random.ts';
import { type Part, part } from '../plan.ts';

/** All texts are in latin1. */
export interface Request {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly string[];
  readonly body: string;
}

const ODD_METHODS = ['get', 'PRI', 'M-SEARCH', 'TRACE', 'X', '', 'G\x00T', 'M'.repeat(300)];
const ODD_TARGETS = [
  '*',
  '',
  '/',
  '//',
  'http://a/envoy/a',
  'http://[::1/envoy',
  'a:443',
  '/envoy/a b',
  '/envoy/\x80\xff',
  '/envoy/%00%zz',
  '/settle',
  `/envoy/${'a'.repeat(70_000)}`,
  `/envoy/${'../'.repeat(500)}`,
  '#a',
];
const ODD_VERSIONS = ['HTTP/1.0', 'HTTP/2.0', 'HTTP/0.9', 'http/1.1', 'HTTP/1.10', 'ICY', ''];
const ODD_HEADERS = [
  'Host: b',
  'Host: a b',
  'Host:',
  'Connection: close',
  'Connection: keep-alive, Upgrade',
  'Upgrade: websocket',
  'Upgrade: h2c',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version: 13',
  'Expect: 100-continue',
  'Expect: 200-ok',
  'Content-Length: 5',
  'Content-Length: 5, 6',
  'Content-Length: -1',
  'Content-Length: 99999999999999999999',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding : chunked',
  'Keep-Alive: timeout=0',
  'TE: trailers',
  'Trailer: x',
  'Authorization: Basic a',
  'Authorization: Basic b',
  'Cookie: a=b; c',
  'X-Odd: \x00',
  'X-Odd: \xff\x80',
  'X-Odd: a\rb',
  ' folded',
  '\tfolded',
  'no colon',
  ': no name',
  'X Space: a',
  `X-Long: ${'v'.repeat(20_000)}`,
  `X-Longer: ${'v'.repeat(70_000)}`,
  ...['__proto__: a', 'constructor: a', 'hasOwnProperty: a'],
];
const MANY = Array.from({ length: 300 }, (_, i) => `X-${i}: v`);
const ODD_ENDS = ['\n\n', '\r\r', '\r\n', '', '\n\r\n'];
const MOST_PIPELINED = 12;

/** Several requests on one connection, of which some are spoiled. */
export function requestParts(random: Random, make: () => Request): Part[] {
  const count = random.next() < 0.6 ? 1 + random.below(2) : 1 + random.below(MOST_PIPELINED);
  const spoils = random.next() < 0.6;
  return Array.from({ length: count }, () => make()).flatMap((each) => {
    const [head, body] = written(random, each, spoils && random.next() < 0.5);
    const name = `${each.method} ${each.target.slice(0, 40)}`;
    return [part(`head of ${name}`, head), ...(body === '' ? [] : [part('body', body)])];
  });
}

function written(random: Random, request: Request, isSpoiled: boolean): [string, string] {
  const { method, target, headers, body } = request;
  const lines = ['Host: a', ...headers];
  const [framing, bytes] = framed(random, body, isSpoiled);
  lines.push(...framing);
  if (!isSpoiled) return [`${method} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`, bytes];
  const odd = <T>(usual: T, others: readonly T[]) =>
    random.next() < 0.25 ? random.oneOf(others) : usual;
  for (let left = random.below(4); left > 0; left--) {
    lines.splice(random.below(lines.length + 1), 0, random.oneOf(ODD_HEADERS));
  }
  if (random.next() < 0.05) lines.push(...MANY);
  if (random.next() < 0.1) lines.shift();
  const version = odd('HTTP/1.1', ODD_VERSIONS);
  const start = `${odd(method, ODD_METHODS)} ${odd(target, ODD_TARGETS)} ${version}`;
  const end = odd('\r\n\r\n', ODD_ENDS);
  return [`${start}\r\n${lines.join(odd('\r\n', ['\n', '\r']))}${end}`, bytes];
}

/** The headers that say where the body ends, and the body. */
function framed(random: Random, body: string, isSpoiled: boolean): [string[], string] {
  const kind = random.next();
  if (isSpoiled && kind < 0.2) {
    const length = random.below(2 * body.length + 10);
    return [[`Content-Length: ${length}`], body];
  }
  if (isSpoiled && kind < 0.4) return [['Transfer-Encoding: chunked'], random.oneOf(ODD_CHUNKS)];
  if (kind < 0.6) {
    return [
      ['Transfer-Encoding: chunked'],
      body === ''
        ? '0\r\n\r\n'
        : `${body.length.toString(16)};a=b\r\n${body}\r\n0\r\nX-Trailer: a\r\n\r\n`,
    ];
  }
  return [body === '' && kind < 0.8 ? [] : [`Content-Length: ${body.length}`], body];
}

const ODD_CHUNKS = [
  '',
  '0\r\n',
  'zz\r\n\r\n',
  '-1\r\na\r\n',
  'ffffffffffffffff\r\na',
  '5\r\nab',
  '1\r\nabc\r\n0\r\n\r\n',
  `1;${'e'.repeat(20_000)}\r\na\r\n0\r\n\r\n`,
  `0\r\nX: ${'t'.repeat(70_000)}\r\n\r\n`,
  '1\na\n0\n\n',
];
