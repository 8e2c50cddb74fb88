/** What the fuzzer sends to the port of operators: every route, with every kind of input, with the token and without. */
import { readdirSync } from 'node:fs';
import { LOG_LEVELS } from '../../../src/gateway/config/settings/settings.ts';
import { OPS_ROUTES, type OpsRoute } from '../../../src/gateway/server/ops/ops-routes.ts';
import type { Random } from '../../../test/support/random.ts';
import { type Request, requestParts } from '../http/request.ts';
import { type Plan, part, planOf, planOfBeginning } from '../plan.ts';

/** In some runs, calls of the API need it. */
export const ADMIN_TOKEN = 'fuzz-token-of-operators';

const BEGINNING_EVERY = 5;

export function opsPlan(random: Random, i: number): Plan {
  if (i % BEGINNING_EVERY === 0) {
    const number = Math.floor(i / BEGINNING_EVERY);
    const text = ORDINARY[number % ORDINARY.length] as string;
    return planOfBeginning('ops', [part('requests', text)], Math.floor(number / ORDINARY.length));
  }
  return planOf(
    random,
    'ops',
    requestParts(random, () => callOf(random)),
  );
}

const HEAD = `HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${ADMIN_TOKEN}\r\n`;
const EXPLAIN = '{"url":"/a"}';
const ORDINARY = [
  `GET /metrics ${HEAD}\r\nGET /v1/overview ${HEAD}\r\n`,
  `POST /v1/explain ${HEAD}Content-Type: application/json\r\nContent-Length: ${EXPLAIN.length}\r\n\r\n${EXPLAIN}`,
  `GET /ui/ ${HEAD}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
];

const PAGE_FILES = readdirSync(new URL('../../../web/ui', import.meta.url));
const OPEN = ['/livez', '/readyz', '/metrics', '/openapi.json', '/ui', '/ui/', '/ui/../x', '/v1'];
const PLAIN_PATHS = [...OPEN, ...PAGE_FILES.map((file) => `/ui/${file}`)];
const CLIENTS = [
  '198.51.100.77',
  '2001:db8::/64',
  'id:x',
  'key:a',
  'user:b',
  'i.0',
  '',
  'x'.repeat(9_000),
];
const REASONS = ['a test', '', 'a\nb', 'r'.repeat(500)];
const DURATIONS = ['1s', '30min', '31d', '32d', '0s', '-1s', '1e9d', ''];
/** No silence, in which a crash would go unnoticed. */
const LEVELS = LOG_LEVELS.filter((level) => level !== 'silent' && level !== 'fatal');
/** By the names of fields. */
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  client: CLIENTS,
  for: DURATIONS,
  reason: REASONS,
  by: ['fuzz', '', 'b'.repeat(100)],
  mode: ['enforce', 'shadow', 'off', 'x'],
  level: LEVELS,
  allows_one_in: [1, 1_000, 0, -1, 1.5],
  url: ['/a', 'http://a/b?c', '*', '', '/%', `/${'u'.repeat(20_000)}`],
  method: ['GET', 'post', '', 'x y'],
  headers: [{}, { 'x-api-key': 'a' }, { a: ['b', 'c'] }, { 'a b': '\n' }, []],
  limit: [1, 20, 100, 101, -1, 'a'],
  shadow: [true, false, 'x'],
  policy: ['login', 'default', 'none', '__proto__'],
  id: ['aaaaaaaaaaaa', '..', '%00', 'x'.repeat(500)],
};
const ODD_VALUES = [
  null,
  1,
  -1,
  1e300,
  true,
  '',
  [],
  {},
  [[[]]],
  'x'.repeat(5_000),
  '\u0000\ud800',
];
const ODD_BODIES = [
  'null',
  '[]',
  '1',
  '"a"',
  '{',
  '',
  '{"__proto__":{}}',
  '\xff\x00',
  '['.repeat(9_999),
];
const TYPES = ['application/json', 'application/json; charset=x', 'text/plain', 'a', ''];

function callOf(random: Random): Request {
  const headers = credentials(random);
  if (random.next() < 0.3) {
    const method = random.oneOf(['GET', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'TRACE']);
    return { method, target: random.oneOf(PLAIN_PATHS), headers, body: '' };
  }
  const route = random.oneOf(OPS_ROUTES);
  const fields = (schema: ReturnType<OpsRoute['schemas']>['body']) =>
    inputOf(random, Object.keys(schema?.properties ?? {}));
  const body =
    random.next() < 0.2 ? random.oneOf(ODD_BODIES) : JSON.stringify(fields(route.schemas().body));
  const query = new URLSearchParams(
    Object.entries(fields(route.schemas().query)).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]),
  ).toString();
  return {
    method: random.next() < 0.9 ? route.method : random.oneOf(['HEAD', 'OPTIONS', 'PATCH', 'POST']),
    target: `${pathOf(random, route)}${query === '' ? '' : `?${query}`}`,
    headers: [...headers, `Content-Type: ${random.oneOf(TYPES)}`],
    body: route.method === 'GET' && random.next() < 0.8 ? '' : Buffer.from(body).toString('latin1'),
  };
}

function credentials(random: Random): string[] {
  const kind = random.next();
  if (kind < 0.7) return [`Authorization: Bearer ${ADMIN_TOKEN}`];
  if (kind < 0.8) return ['Authorization: Bearer wrong'];
  if (kind < 0.9) return ['Origin: http://b', 'Sec-Fetch-Site: cross-site'];
  return [];
}

function pathOf(random: Random, { url }: OpsRoute): string {
  return url.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(String(random.oneOf(VALUES[name] ?? ['x']))),
  );
}

function inputOf(random: Random, names: readonly string[]): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const name of names) {
    if (random.next() < 0.15) continue;
    input[name] = random.oneOf(random.next() < 0.9 ? (VALUES[name] ?? ODD_VALUES) : ODD_VALUES);
  }
  if (random.next() < 0.05) input[random.oneOf(['extra', 'constructor', ''])] = 1;
  return input;
}
