/** Header fields and messages of calls to the gRPC port: of its services, of others, and of none. */
import { deflateSync, gzipSync } from 'node:zlib';
import {
  accessLog,
  accessLogMessage,
  firstAccessLog,
  STREAM_ACCESS_LOGS,
} from '../../../test/support/access-logs.ts';
import {
  AUTHORIZATION,
  CHECK,
  CHECK_MESSAGE,
  checkWith,
  field,
  frame,
} from '../../../test/support/grpc-frames.ts';
import type { Random } from '../../../test/support/random.ts';
import type { Field } from './hpack.ts';

const RATE_LIMIT = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';
const HEALTH = '/grpc.health.v1.Health';

const PATHS = [
  CHECK,
  CHECK,
  CHECK,
  RATE_LIMIT,
  RATE_LIMIT,
  STREAM_ACCESS_LOGS,
  STREAM_ACCESS_LOGS,
  STREAM_ACCESS_LOGS,
  `${HEALTH}/Check`,
  `${HEALTH}/List`,
  `${HEALTH}/Watch`,
  `${HEALTH}/Watch`,
  `/${AUTHORIZATION}/check`,
  '/x/Y',
  '/',
  '*',
  '/__proto__',
  `/${'p'.repeat(5_000)}`,
];
const CONTENT_TYPES = [
  'application/grpc',
  'application/grpc',
  'application/grpc',
  'application/grpc',
  'application/grpc+proto',
  'application/grpc;charset=x',
  'application/grpc-web',
  'application/json',
  'text/plain',
  '',
];
const ODD_AUTHORITY = 'outbound|8081||r';
const AUTHORITIES = [
  'a',
  '127.0.0.1:8081',
  'outbound|8081||ratelimit.default.svc.cluster.local',
  `outbound|8081||${'r'.repeat(120)}`,
  `|${'r'.repeat(3_000)}`,
  '|',
  'a b',
  'a\x80\xff',
  '/',
  '"<>\\^`{}',
  '',
];

/** Callers mostly send the same one on all streams of a connection. */
export function chooseAuthority(random: Random): string {
  const kind = random.next();
  if (kind < 0.5) return ODD_AUTHORITY;
  return kind < 0.75 ? 'a' : random.oneOf(AUTHORITIES);
}

export interface CallHead {
  readonly path: string;
  readonly fields: readonly Field[];
  readonly label: string;
}

/** `isBroken`: whether it may be malformed. Else it is at most refused. */
export function callHead(random: Random, authority: string, isBroken: boolean): CallHead {
  const path = random.oneOf(PATHS);
  const type = random.oneOf(CONTENT_TYPES);
  const method = isBroken ? random.oneOf(['GET', 'CONNECT', 'OPTIONS', 'x', 'POST']) : 'POST';
  const fields: Field[] = [
    [':method', method],
    [':scheme', random.next() < 0.9 ? 'http' : 'https'],
    [':path', path],
    [':authority', random.next() < 0.9 ? authority : random.oneOf(AUTHORITIES)],
    ['content-type', type],
    ['te', 'trailers'],
  ];
  for (const each of EXTRA) if (random.next() < 0.06) fields.push(each(random));
  if (isBroken) spoil(random, fields);
  return { path, fields, label: `${method} ${short(path)} ${type} for ${short(authority)}` };
}

const short = (text: string) => (text.length > 60 ? `${text.slice(0, 20)}...` : text);

const EXTRA: readonly ((random: Random) => Field)[] = [
  (random) => ['grpc-encoding', random.oneOf(['gzip', 'deflate', 'identity', 'br', ''])],
  (random) => ['grpc-timeout', random.oneOf(['1n', '0m', '10S', '99999999H', '-1S', ''])],
  (random) => ['x-headgate-secret', random.oneOf(['', 'wrong', 's\xe9cret'])],
  (random) => ['cookie', `a=${'b'.repeat(random.below(300))}`],
  (random) => ['expect', random.oneOf(['100-continue', 'x'])],
  (random) => ['x-trace', 't'.repeat(random.oneOf([0, 10, 1_000, 4_000, 15_000]))],
  (random) => [`x-${random.below(50)}`, 'v'.repeat(random.below(120))],
  () => ['traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
  () => ['priority', 'u=0, i'],
  () => ['user-agent', 'grpc-go/1.70.0'],
];

/** Makes the fields malformed: https://www.rfc-editor.org/rfc/rfc9113#section-8.2 */
function spoil(random: Random, fields: Field[]): void {
  const at = random.below(fields.length);
  random.oneOf([
    () => fields.splice(at, 1),
    () => fields.push(fields[at] as Field),
    () => fields.reverse(),
    () => fields.push(['content-length', random.oneOf(['0', '5', '99', '-1', 'x'])]),
    () => fields.push(['X-Upper', 'a']),
    () => fields.push(['connection', 'close']),
    () => fields.push(['transfer-encoding', 'chunked']),
    () => fields.push([':status', '200']),
    () => fields.push([':protocol', 'websocket']),
    () => fields.push(['', 'a']),
    () => fields.push(['x-control', 'a\r\nb: c\x00']),
    () => fields.push(['te', 'gzip']),
    () => fields.push(['upgrade', 'h2c']),
    () => fields.push(['http2-settings', 'AAMAAABkAAQAAP__']),
    () => fields.splice(0, fields.length),
  ])();
}

const text = (value: string) => Buffer.from(value);
const entry = (key: string, value: string) => field(1, field(1, text(key)), field(2, text(value)));
const limitCall = (...descriptors: Buffer[]) =>
  Buffer.concat([field(1, text('edge')), ...descriptors.map((each) => field(2, each))]);
const CHECKS: readonly Buffer[] = [
  CHECK_MESSAGE,
  checkWith(field(4, text('/api/auth/login')), field(5, text('api.example.com'))),
  checkWith(field(4, text('/a\r\n%00%'))),
  checkWith(
    field(4, text('/a')),
    field(3, field(1, text('x-api-key')), field(2, text('invented'))),
  ),
  field(1, field(1, Buffer.alloc(0))),
];
const LIMIT_CALLS: readonly Buffer[] = [
  limitCall(),
  limitCall(entry('path', '/login')),
  limitCall(entry('path', '/login'), entry('path', '/login'), entry('user', 'a')),
  limitCall(...Array.from({ length: 40 }, (_, i) => entry('user', String(i)))),
];
const HEALTH_CALLS: readonly Buffer[] = [
  Buffer.alloc(0),
  field(1, text('')),
  field(1, text('unknown')),
  field(1, text(AUTHORIZATION)),
  field(1, text('ratelimit')),
];
const LOGGED = { token: 'a-token', units: { tokens: 812 }, headers: { 'x-login': 'ok' } };
const ACCESS_LOGS: readonly Buffer[] = [
  firstAccessLog(LOGGED),
  accessLog(LOGGED),
  accessLog(LOGGED, { status: 404 }, LOGGED, { token: 'b', type: 'DownstreamPeriodic' }),
  accessLog({ token: 'c', units: { tokens: -1, images: 2 ** 60 }, details: 'response_timeout' }),
  accessLog({ token: 't'.repeat(5_000), headers: { location: `/${'l'.repeat(5_000)}` } }),
  accessLog(...Array.from({ length: 60 }, (_, i) => ({ token: `token-${i}` }))),
  accessLogMessage({ tcp_logs: { log_entry: [{ connection_properties: { received_bytes: 5 } }] } }),
];
const NOISE: readonly Buffer[] = [
  Buffer.alloc(0),
  Buffer.alloc(40, 0xff),
  Buffer.alloc(5_000, 0x0b),
  Buffer.from([0x02, 0x01, 0x00]),
  Buffer.from([0x0a, 0x7f, 0x00]),
];

function messagesOf(path: string): readonly Buffer[] {
  if (path === RATE_LIMIT) return LIMIT_CALLS;
  if (path === STREAM_ACCESS_LOGS) return ACCESS_LOGS;
  return path.startsWith(HEALTH) ? HEALTH_CALLS : CHECKS;
}

/** The data of a call of the path: mostly one message for it, else what is none. */
export function callData(random: Random, path: string): { label: string; bytes: Buffer } {
  const messages =
    random.next() < 0.7
      ? messagesOf(path)
      : random.oneOf([CHECKS, LIMIT_CALLS, HEALTH_CALLS, ACCESS_LOGS, NOISE, NOISE]);
  const message = random.oneOf(messages);
  const shape = random.next();
  const made = (label: string, bytes: Buffer) => ({ label, bytes });
  if (shape < 0.6) return made('message', frame(message));
  if (shape < 0.65) return made('gzip message', frame(gzipSync(message), { compressed: 1 }));
  if (shape < 0.7) return made('deflate message', frame(deflateSync(message), { compressed: 1 }));
  if (shape < 0.75) return made('wrongly compressed message', frame(message, { compressed: 1 }));
  if (shape < 0.78) return made('message with odd flag', frame(message, { compressed: 7 }));
  if (shape < 0.84) {
    const whole = frame(message);
    return made('cut message', whole.subarray(0, random.below(whole.length)));
  }
  if (shape < 0.88) return made('two messages', Buffer.concat([frame(message), frame(message)]));
  if (shape < 0.92) {
    return made('message of wrong length', frame(message, { length: random.below(2 ** 32) }));
  }
  if (shape < 0.94) {
    const packed = gzipSync(Buffer.alloc(2_000_000));
    return made('message that unpacks to 2 MB', frame(packed, { compressed: 1 }));
  }
  if (shape < 0.96)
    return made('long message', frame(Buffer.concat([message, Buffer.alloc(20_000)])));
  return made('no message', Buffer.alloc(0));
}
