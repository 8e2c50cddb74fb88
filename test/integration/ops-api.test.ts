/** The ops API: access, inputs and answers. Hostile input neither breaks it nor appears in answers or logs. */
import { Ajv } from 'ajv';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { LOG_LEVELS } from '../../src/gateway/config/settings/settings.ts';
import { OPS_ROUTES, type OpsRoute } from '../../src/gateway/server/ops/ops-routes.ts';
import { strayLines } from '../scenarios/hostile/run.ts';
import { runCommand } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import type { Gateway } from '../support/gateway.ts';
import { call, type HttpAnswer } from '../support/http.ts';
import {
  KEYS,
  lift,
  newAddress,
  operate,
  override,
  policyFile,
  reset,
  setMode,
  startOperated,
  TERMS,
  visit,
} from '../support/operations.ts';
import { answerTo, exchange, statusOf } from '../support/raw-http.ts';
import { temporaryFile } from '../support/temporary.ts';
import { Sentinels } from './support/sentinels.ts';

const TOKEN = 'the-token-of-all-operators+1==';
const WRONG = 'a-token-that-was-guessed';
const OPEN_PATHS = ['/livez', '/readyz', '/metrics', '/openapi.json'];
const SHOWN = { authorization: `Bearer ${TOKEN}` };

const started = new AsyncDisposableStack();
let policies: string;
/** Without a token. */
let open: Gateway;
let guarded: Gateway;
let silent: Gateway;
/** The store keeps its API keys. */
let keyed: Gateway;

beforeAll(async () => {
  policies = policyFile(started);
  [open, guarded, silent] = (await Promise.all(
    [
      {},
      { HEADGATE_ADMIN_TOKEN: TOKEN, HEADGATE_LOG_LEVEL: 'trace' },
      { HEADGATE_LOG_LEVEL: 'silent' },
    ].map(async (env) => started.use(await startOperated(policies, env))),
  )) as [Gateway, Gateway, Gateway];
  const keys = 'identity: { api_key: { keys: redis } }';
  const file = `{ version: 1, ${keys}, default: { limits: [5/1h] } }`;
  keyed = started.use(await startOperated(temporaryFile(started, file)));
});
afterAll(() => started.disposeAsync());
// A fault fails the test that caused it.
afterEach(() => {
  for (const gateway of [open, guarded, silent, keyed]) {
    expect(gateway.output()).not.toMatch(/"event":"(operation_failed|crashed|check_failed)"/);
    expect(strayLines(gateway.output())).toEqual([]);
  }
});

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** The smallest valid body of a route. */
function bodyOf({ operation, schemas }: OpsRoute): Record<string, unknown> | undefined {
  const { body } = schemas();
  if (body === undefined) return undefined;
  const values: Record<string, unknown> = {
    ...TERMS,
    client: '203.0.113.9',
    mode: 'off',
    url: '/a',
    id: 'acme',
    keys: [{ id: 'globex', sha256: '0'.repeat(64) }],
  };
  const { required = [] } = body as Schema;
  const least = Object.fromEntries(required.map((name) => [name, values[name]]));
  if (operation === 'changeKeys') return { ...least, blocked: true };
  return operation === 'setLog' ? { ...least, level: 'debug' } : least;
}

function pathOf({ url }: OpsRoute): string {
  return url.replace(':policy', 'search').replace(':id', '0123456789ab-1');
}

function send(gateway: Gateway, route: OpsRoute, body: unknown, headers = {}) {
  return call(gateway.opsUrl, pathOf(route), {
    method: route.method,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

/** The message of a refusal, which has no other fields than error and message. */
function messageOf({ body }: HttpAnswer): string {
  const { error, message } = JSON.parse(body);
  expect({ error, message }).toEqual({ error: expect.any(String), message: expect.any(String) });
  return message;
}

describe('the token', () => {
  test.each(OPS_ROUTES.map((route) => [`${route.method} ${route.url}`, route] as const))(
    'is required for %s, and is checked before the body',
    async (_name, route) => {
      for (const body of [bodyOf(route), bodyOf(route) && { nonsense: 1 }]) {
        expect(await send(guarded, route, body)).toMatchObject({ status: 401 });
        expect(await send(guarded, route, body, SHOWN)).not.toMatchObject({ status: 401 });
      }
    },
  );

  const refused = [
    ...[undefined, '', 'Bearer', 'Bearer ', 'Bearer  ', TOKEN, `Basic ${TOKEN}`, `Token ${TOKEN}`],
    ...[`Bearer ${WRONG}`, `Bearer ${TOKEN}x`, `Bearer x${TOKEN}`, `Bearer ${TOKEN.slice(0, -1)}`],
    ...[`Bearer ${TOKEN} ${TOKEN}`, `Bearer ${TOKEN},${TOKEN}`, `Bearer ${TOKEN.toUpperCase()}`],
    ...[`Bearer "${TOKEN}"`, `Bearer:${TOKEN}`, `Bearer ${'x'.repeat(4_000)}`],
  ];

  test('gets the same refusal for every mistake', async () => {
    const answers = new Set<string>();
    for (const authorization of refused) {
      const headers = authorization === undefined ? {} : { authorization };
      const {
        status,
        headers: told,
        body,
      } = await call(guarded.opsUrl, '/v1/overrides', { headers });
      expect({ authorization, status }).toEqual({ authorization, status: 401 });
      const { date, ...others } = told;
      answers.add(JSON.stringify({ others, body }));
    }
    const [answer = '{}', ...more] = answers;
    expect(more).toEqual([]);
    expect(JSON.parse(answer).others).toMatchObject({ 'www-authenticate': 'Bearer' });
    expect(JSON.parse(JSON.parse(answer).body)).toMatchObject({ error: 'unauthorized' });
  });

  test.each([`Bearer ${TOKEN}`, `bearer ${TOKEN}`, `BEARER   ${TOKEN}`, `bEaReR ${TOKEN} `])(
    'is accepted as %j',
    async (authorization) => {
      const headers = { authorization };
      expect(await call(guarded.opsUrl, '/v1/overrides', { headers })).toMatchObject({
        status: 200,
      });
    },
  );

  test('allows any Host header', async () => {
    const headers = { ...SHOWN, host: 'gateway.example' };
    expect(await call(guarded.opsUrl, '/v1/overrides', { headers })).toMatchObject({ status: 200 });
  });

  test('is in no answer and no log line, whether right or wrong; refusals are counted', async () => {
    const texts: string[] = [];
    for (const path of [...OPEN_PATHS, '/v1/overrides', '/v1/nowhere', `/v1/${TOKEN}`, '/stats']) {
      for (const authorization of [SHOWN.authorization, `Bearer ${WRONG}`]) {
        texts.push(
          JSON.stringify(await call(guarded.opsUrl, path, { headers: { authorization } })),
        );
      }
    }
    await guarded.printed(/"event":"operator_refused"/);
    const { body } = await call(guarded.opsUrl, '/metrics');
    expect(body).toMatch(/^headgate_operators?_refused\w* [1-9]\d*$/m);
    for (const text of [...texts, body, guarded.output()]) {
      expect(text).not.toContain(TOKEN);
      expect(text).not.toContain(WRONG);
    }
    expect(guarded.output().match(/"event":"operator_refused"/g)).toHaveLength(1);
  });

  test.each(OPEN_PATHS)('is not required for %s, with any Host header', async (path) => {
    for (const gateway of [open, guarded]) {
      const headers = { host: 'gateway.example' };
      expect(await call(gateway.opsUrl, path, { headers })).toMatchObject({ status: 200 });
    }
  });

  test.each(['0.0.0.0', '::', '203.0.113.9', 'gateway.example'])(
    'is required to listen on %s: exit code 3',
    async (HEADGATE_OPS_HOST) => {
      const env = { HEADGATE_OPS_HOST, HEADGATE_OPS_PORT: '0', HEADGATE_PORT: '0' };
      expect(await runCommand([], { env })).toMatchObject({
        code: 3,
        stderr: expect.stringMatching(/HEADGATE_OPS_HOST: .*set HEADGATE_ADMIN_TOKEN/),
      });
    },
  );
});

describe('without a token', () => {
  const callAs = (host: string) => call(open.opsUrl, '/v1/overrides', { headers: { host } });

  test.each([
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ])('requests of other web pages are refused: %j', async (headers) => {
    for (const path of ['/stats', '/v1/overrides', '/v1/clients/top']) {
      expect(await call(open.opsUrl, path, { headers })).toMatchObject({ status: 403 });
    }
  });

  test('a page of the ops server itself may read and write, by each name of this machine', async () => {
    const { port } = new URL(open.opsUrl);
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]) {
      const headers = { host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' };
      expect(await operate(open, 'GET /v1/overrides', undefined, headers)).toMatchObject({
        status: 200,
      });
      const body = { client: newAddress(), by: 'test' };
      expect(await operate(open, 'POST /v1/clients/reset', body, headers)).toMatchObject({
        status: 200,
      });
      for (const origin of [`https://${host}`, `http://${host}0`, 'http://localhost:1', 'null']) {
        const foreign = { ...headers, origin };
        expect(await operate(open, 'POST /v1/clients/reset', body, foreign)).toMatchObject({
          status: 403,
        });
      }
    }
  });

  test('the page of the ops server can be turned off, and is otherwise only for hosts of this machine', async () => {
    await using off = await startOperated(policies, { HEADGATE_UI: 'off' });
    expect(await call(off.opsUrl, '/ui')).toMatchObject({ status: 404 });
    expect(await call(open.opsUrl, '/ui')).toMatchObject({
      status: 308,
      headers: { location: 'ui/', 'content-security-policy': expect.any(String) },
    });
    const foreign = { host: 'evil.example' };
    expect(await call(open.opsUrl, '/ui/', { headers: foreign })).toMatchObject({ status: 403 });
    expect(await call(guarded.opsUrl, '/ui', { headers: foreign })).toMatchObject({ status: 308 });
  });

  test('a page of a name that was pointed at this machine is refused', async () => {
    const headers = { host: 'evil.example', origin: 'http://evil.example' };
    const body = { client: newAddress() };
    expect(await operate(open, 'POST /v1/clients/reset', body, headers)).toMatchObject({
      status: 403,
    });
  });

  test.each([
    ...['evil.example', 'evil.example:9464', 'localhost.evil.example', 'evil.example/localhost'],
    ...['127.0.0.1.evil.example', '203.0.113.9', '0.0.0.0', '[::2]:80', '127.1', 'localhost:x'],
    ...['localhost@evil.example', 'xn--localhost', 'localhost.', '2130706433', '[::ffff:1.2.3.4]'],
  ])('the Host header %j is refused', async (host) => {
    const { status, body } = await callAs(host);
    expect({ status, error: JSON.parse(body).error }).toEqual({ status: 403, error: 'forbidden' });
    expect(body).not.toContain('evil');
  });

  test('a request without a Host header is refused', async () => {
    const answer = await exchange(open.opsUrl, 'GET /v1/overrides HTTP/1.0\r\n\r\n');
    expect(statusOf(answer)).toBe(403);
  });

  test.each([
    ...[
      'localhost',
      'LocalHost:9464',
      '127.0.0.1',
      '127.0.0.1:80',
      '127.9.9.9',
      '[::1]',
      '[::1]:9464',
    ],
  ])('the Host header %j is accepted', async (host) => {
    expect(await callAs(host)).toMatchObject({ status: 200 });
  });
});

describe('a call', () => {
  const ajv = new Ajv({ strict: true, allowUnionTypes: true });
  ajv.addFormat('date-time', (text) => new Date(text).toISOString() === text);

  /** The answer to a successful call of each operation. */
  async function callAll(): Promise<Partial<Record<OpsRoute['operation'], HttpAnswer>>> {
    const address = newAddress();
    const denials: HttpAnswer[] = [];
    for (let i = 0; i < 3; i++) denials.push(await visit(open, 'POST /pin', { address }));
    const id = String(denials[2]?.headers['x-ratelimit-decision-id']);
    const answers: Partial<Record<OpsRoute['operation'], HttpAnswer>> = {};
    const ask = async (operation: OpsRoute['operation'], more: object = {}, path?: string) => {
      const route = OPS_ROUTES.find((each) => each.operation === operation) as OpsRoute;
      const least = bodyOf(route);
      const body = least && { ...least, ...more };
      const gateway = route.url.startsWith('/v1/keys') ? keyed : open;
      answers[operation] = await send(gateway, { ...route, url: path ?? route.url }, body);
    };
    const client = { client: address };
    await ask('block', client);
    await ask('decision', {}, `/v1/decisions/${id}`);
    await ask('top');
    await ask('findDenied', { filter: address });
    await ask('inspect', client);
    await ask('unblock', client);
    await ask('exempt', client);
    await ask('setMode');
    await ask('setLog', { allows_one_in: 1_000_000 });
    await ask('listOverrides');
    await ask('listPolicies');
    await ask('explain');
    await ask('stats');
    await ask('overview');
    await ask('reset', client);
    await ask('unexempt', client);
    await ask('restoreMode');
    await ask('restoreLog');
    await ask('addKey', { plan: 'pro', expires: '90d', comment: 'a test' });
    await ask('rotateKey');
    await ask('changeKeys');
    await ask('importKeys');
    await ask('listKeys');
    await ask('revokeKeys');
    return answers;
  }

  test('of every route gets an answer that fits its schema', async () => {
    const answers = await callAll();
    for (const { operation, schemas } of OPS_ROUTES) {
      const { answer } = schemas();
      const { status, headers, body } = answers[operation] ?? {};
      expect({ operation, status, body }).toEqual({ operation, status: 200, body });
      expect(headers).toMatchObject({
        'content-type': expect.stringMatching(/^application\/json/),
      });
      const content = JSON.parse(body ?? '');
      expect({ operation, of: ajv.validate(answer, content), why: ajv.errors }).toEqual({
        operation,
        of: true,
        why: null,
      });
    }
    expect(JSON.parse(answers.decision?.body ?? '')).toMatchObject({
      ...{
        policy: 'pin',
        reason: 'over_limit',
        limit: 'pin',
        dialect: 'envoy',
        override: { about: 'client', access: 'blocked' },
      },
      ...{ now: { remaining: 0 }, allows: '2 requests per day', denials: 1 },
    });
    expect(JSON.parse(answers.listOverrides?.body ?? '').overrides).toHaveLength(4);
  });

  const withBody = OPS_ROUTES.filter(({ schemas }) => schemas().body !== undefined).map(
    (route) => [`${route.method} ${route.url}`, route] as const,
  );

  test.each(withBody)(
    'of %s is refused with the names of unknown and missing keys',
    async (_name, route) => {
      const least = bodyOf(route) ?? {};
      const unknown = await send(open, route, { ...least, nonsense: 1, __proto: 2 });
      expect(unknown.status).toBe(400);
      expect(messageOf(unknown)).toBe('nonsense: is not known; __proto: is not known');
      for (const name of (route.schemas().body as Schema).required ?? []) {
        const { [name]: _, ...others } = least;
        const answer = await send(open, route, others);
        expect({ status: answer.status, message: messageOf(answer) }).toEqual({
          status: 400,
          message: `${name}: is missing`,
        });
      }
    },
  );

  /** For each type, values of other types. */
  const OTHERS: Readonly<
    Record<string, { readonly alike: unknown[]; readonly unlike: unknown[] }>
  > = {
    string: { alike: [7, 0, true, false, ['x']], unlike: [{}, [], ['x', 'y'], { x: 'y' }] },
    integer: { alike: ['5', true, ['5']], unlike: ['x', 1.5, -1, 0, 1e10, {}, []] },
    object: { alike: [], unlike: ['x', 7, true, []] },
  };

  async function taken(route: OpsRoute, kind: 'alike' | 'unlike'): Promise<string[]> {
    const offences: string[] = [];
    for (const [name, { type = '' }] of Object.entries(
      (route.schemas().body as Schema).properties ?? {},
    )) {
      for (const value of OTHERS[type]?.[kind] ?? []) {
        const { status, body } = await send(open, route, { ...bodyOf(route), [name]: value });
        // A value that is converted to text may be refused for its content.
        const isTold = kind === 'alike' || body.includes(`${name}: must `);
        if (status !== 400 || !isTold)
          offences.push(`${name}: ${JSON.stringify(value)}: ${status}`);
      }
    }
    return offences;
  }

  test.each(withBody)(
    'of %s is refused with the name of a key whose type is wrong',
    async (_name, route) => {
      expect(await taken(route, 'unlike')).toEqual([]);
    },
  );

  test.each(withBody)('of %s does not convert numbers or lists to text', async (_name, route) => {
    expect(await taken(route, 'alike')).toEqual([]);
  });

  test.each([
    ['POST /v1/clients/block', { for: '' }, 'for: '],
    ['POST /v1/clients/block', { for: '0s' }, 'for: '],
    ['POST /v1/clients/exempt', { for: '1w' }, 'for: '],
    ['POST /v1/clients/exempt', { for: '-1h' }, 'for: '],
    ['POST /v1/clients/exempt', { for: '1.5h' }, 'for: '],
    ['POST /v1/clients/exempt', { for: '1 h' }, 'for: '],
    ['POST /v1/clients/block', { for: '32d' }, 'for: must be at most 31d'],
    ['POST /v1/clients/block', { for: '999999999d' }, 'for: must be at most 31d'],
    ['POST /v1/clients/block', { for: '99999999999999999999s' }, 'for: '],
    ['POST /v1/clients/block', { client: '' }, 'client: must not be empty'],
    [
      'POST /v1/clients/block',
      { client: 'x'.repeat(8_193) },
      'client: must have at most 8192 characters',
    ],
    ['POST /v1/clients/block', { reason: '' }, 'reason: must not be empty'],
    [
      'POST /v1/clients/block',
      { reason: 'x'.repeat(201) },
      'reason: must have at most 200 characters',
    ],
    ['POST /v1/clients/block', { by: 'x'.repeat(65) }, 'by: must have at most 64 characters'],
    ['PUT /v1/policies/pin/mode', { mode: 'on' }, 'enforce, shadow, off'],
    ['PUT /v1/policies/none/mode', { mode: 'off' }, 'there is no policy "none"'],
    ['PUT /v1/log', { level: 'verbose' }, LOG_LEVELS.join(', ')],
    ['PUT /v1/log', {}, 'level, allows_one_in or both'],
    ['PUT /v1/log', { level: 'info', for: 'x' }, 'for: '],
  ])('%s with %j is refused with the expected values', async (what, body, said) => {
    const isOfClient = what.includes('clients');
    const least = { ...TERMS, ...(isOfClient && { client: '203.0.113.9' }) };
    const { status, text } = await operate(open, what, { ...least, ...body });
    expect({ status, text }).toEqual({
      status: said.startsWith('there is no') ? 404 : 400,
      text: expect.stringContaining(said.replaceAll('"', '\\"')),
    });
  });

  test.each([
    ['GET /v1/clients/top?limit=0', 'limit: must be '],
    ['GET /v1/clients/top?limit=101', 'limit: must be '],
    ['GET /v1/clients/top?limit=x', 'limit: must be '],
    ['GET /v1/clients/top?shadow=perhaps', 'shadow: must be '],
    ['GET /v1/clients/top?nonsense=1', 'nonsense: is not known'],
    ['DELETE /v1/log?nonsense=1', 'nonsense: is not known'],
    [`DELETE /v1/log?by=${'x'.repeat(65)}`, 'by: must have at most 64 characters'],
    [`GET /v1/decisions/${'x'.repeat(65)}`, 'id: must have at most 64 characters'],
  ])('%s is refused with the name of the key', async (what, said) => {
    const { status, text } = await operate(open, what);
    expect({ status, text }).toEqual({ status: 400, text: expect.stringContaining(said) });
  });

  test.each([
    ['DELETE /v1/log', 404],
    ['DELETE /v1/policies/pin/mode', 404],
    ['GET /v1/decisions/0123456789ab-1', 404],
    ['GET /v1', 404],
  ])('%s is not found: %i', async (what, expected) => {
    // The first call removes overrides of earlier tests.
    await operate(open, what);
    expect(await operate(open, what)).toMatchObject({
      status: expected,
      answer: { error: 'not_found' },
    });
  });

  const JSON_TYPE = 'application/json';
  test.each<[string, string, string | undefined, string | Buffer]>([
    ['nothing', '400', JSON_TYPE, ''],
    ['half an object', '400', JSON_TYPE, '{"client":'],
    ['null', '400', JSON_TYPE, 'null'],
    ['a list', '400', JSON_TYPE, '[]'],
    ['a text', '400', JSON_TYPE, '"203.0.113.9"'],
    ['a number', '400', JSON_TYPE, '7'],
    ['bytes', '400', JSON_TYPE, Buffer.from([0xff, 0xfe, 0, 0x80])],
    ['a poisoned object', '400', JSON_TYPE, '{"__proto__":{"client":"203.0.113.9"}}'],
    ['a poisoned constructor', '400', JSON_TYPE, '{"constructor":{"prototype":{"x":1}}}'],
    ['too many brackets', '400', JSON_TYPE, '['.repeat(60_000)],
    ['too much', '413', JSON_TYPE, JSON.stringify({ client: 'x'.repeat(300 * 1024) })],
    ['a form', '415', 'application/x-www-form-urlencoded', 'client=203.0.113.9'],
    ['plain text', '4(00|15)', 'text/plain', '{"client":"203.0.113.9"}'],
    ['XML', '415', 'application/xml', '<client/>'],
    ['a media type that is none', '415', 'junk', '{}'],
    ['no media type', '4(00|15)', undefined, '{"client":"203.0.113.9"}'],
  ])('with %s as its body is refused: %s', async (_what, expected, type, body) => {
    for (const path of ['/v1/clients/block', '/v1/clients/reset', '/v1/explain']) {
      const answer = await call(open.opsUrl, path, {
        method: 'POST',
        headers: { ...(type !== undefined && { 'content-type': type }) },
        body,
      });
      expect(String(answer.status)).toMatch(new RegExp(`^${expected}$`));
      messageOf(answer);
    }
  });
});

describe('a client', () => {
  const VERBS = ['block', 'exempt', 'unblock', 'unexempt', 'reset'] as const;
  const ask = (verb: (typeof VERBS)[number], client: string) => {
    if (verb === 'reset') return reset(open, client);
    return verb === 'block' || verb === 'exempt'
      ? override(open, verb, client)
      : lift(open, verb, client);
  };

  test.each([
    ...['\0', '\r\n', '\x1b[31m', ' ', '\u202e', '\ud800', '__proto__', 'constructor', 'toString'],
    ...[
      '../../etc/passwd',
      '*',
      'hg:v1:{g}',
      'i.',
      'i.short',
      `i.${'x'.repeat(23)}`,
      'z.AAAAAAAAAAAAAAAAAAAAAA',
    ],
    ...['0.0.0.0/0', '203.0.113.0/24', '203.0.113.9/32', '::/0', '2001:db8::/65', '2001:db8::/064'],
    ...[
      '2001:db8::/',
      '2001:db8::/-1',
      '2001:db8::/64/64',
      '2001:db8::/1e2',
      ':::',
      '[::1',
      '::ffff:1.2.3.4/128',
    ],
    ...[
      '0313.0.0161.011',
      '0x7f.1',
      '127.1',
      '2130706433',
      '1.2.3',
      '1.2.3.4.5',
      '256.1.1.1',
      '1.2.3.4,5.6.7.8',
    ],
    ...[
      'id:',
      'key:',
      'user:',
      'id:__proto__',
      'id:nobody',
      'ID:acme',
      'constructor:x',
      '0123456789ab-1',
    ],
    ...['0123456789ab-0', '0123456789ab--1', `0123456789ab-${'9'.repeat(400)}`, '0123456789ab-1x'],
    'x'.repeat(8_192),
  ])('with the invalid or unknown name %j: 4xx for every operation', async (client) => {
    for (const verb of VERBS) {
      const { status, text } = await ask(verb, client);
      expect({ verb, status, text }).toEqual({
        verb,
        status: text.includes('"not_found"') ? 404 : text.includes('"not_possible"') ? 409 : 400,
        text: expect.stringMatching(/"error":"(invalid|not_found|not_possible)"/),
      });
    }
  });

  test.each([
    ...[
      `key:${'k'.repeat(8_000)}`,
      'key:\0\x1b[31m',
      'key:__proto__',
      'user:../../',
      'user:\r\n',
      'user: ',
    ],
    ...['user:\ud800', `user:${'u'.repeat(8_000)}`, 'key:id:acme', 'c.AAAAAAAAAAAAAAAAAAAAAA'],
  ])('with the odd name %j is valid', async (client) => {
    for (const verb of ['block', 'unblock', 'exempt', 'unexempt', 'reset'] as const) {
      expect(await ask(verb, client)).toMatchObject({ status: 200 });
    }
  });

  test.each(['g', 'h.AAAAAAAAAAAAAAAAAAAAAA'])(
    'that stands for many clients, %s, can only be reset',
    async (client) => {
      for (const verb of ['block', 'exempt'] as const) {
        expect(await ask(verb, client)).toMatchObject({
          status: 409,
          answer: { error: 'not_possible' },
        });
      }
      expect(await ask('reset', client)).toMatchObject({ status: 200 });
    },
  );

  test.each([
    ['203.0.113.201', '::ffff:203.0.113.201'],
    ['203.0.113.202', '::FFFF:cb00:71ca'],
    ['203.0.113.203', '[::ffff:203.0.113.203]:443'],
    ['203.0.113.204', '64:ff9b::203.0.113.204'],
    ['203.0.113.205', ' 203.0.113.205:8080 '],
    ['2001:db8:9::1', '2001:0DB8:9:0::ffff'],
  ])('%s can be written as %s', async (address, spelled) => {
    const one = await override(open, 'block', spelled);
    expect(one).toMatchObject({ status: 200 });
    expect(await visit(open, '/a', { address })).toMatchObject({ status: 403 });
    expect(await override(open, 'block', address)).toMatchObject({
      answer: { client: one.answer.client },
    });
    expect(await lift(open, 'unblock', address)).toMatchObject({ status: 200 });
    expect(await visit(open, '/a', { address })).toMatchObject({ status: 200 });
  });

  test('cannot be a range: the message names the policy file', async () => {
    const { text } = await override(open, 'block', '203.0.113.0/24');
    expect(text).toContain('in the policy file');
  });

  test.each([
    ...['..', '..%2f..', '%00', '__proto__', 'constructor', '%zz', '%ff', 'a%2fb', '%F0%9F%98%80'],
  ])('in a path as %j gets 400 or 404', async (part) => {
    for (const [method, path, body] of [
      ['GET', `/v1/decisions/${part}`, undefined],
      ['DELETE', `/v1/policies/${part}/mode`, undefined],
      ['PUT', `/v1/policies/${part}/mode`, JSON.stringify({ mode: 'off', ...TERMS })],
    ] as const) {
      const headers = { ...(body !== undefined && { 'content-type': 'application/json' }) };
      const { status } = await call(open.opsUrl, path, {
        method,
        headers,
        ...(body !== undefined && { body }),
      });
      expect([400, 404]).toContain(status);
    }
  });

  test.each<[number, Record<string, unknown>]>([
    [400, { url: '' }],
    [400, { url: 'http://' }],
    [200, { url: 'http://[::1' }],
    [400, { url: '\0' }],
    [200, { url: '/\0' }],
    [200, { url: `/${'%'.repeat(10_000)}` }],
    [200, { url: `/${'a/../'.repeat(3_000)}` }],
    [400, { url: '/a', method: '' }],
    [400, { url: '/a', method: '\r\n' }],
    [400, { url: '/a', proxy: 'junk' }],
    [400, { url: '/a', peer: '\0' }],
    [400, { url: '/a', client: '__proto__' }],
    [400, { url: '/a', headers: { '': '' } }],
    [400, { url: '/a', headers: { 'x-a': 'b\r\nc: d' } }],
    [200, { url: '/a', headers: { constructor: 'x', toString: ['y'], 'x-forwarded-for': ',,,' } }],
    [200, { url: '/a', headers: { 'x-api-key': ['a', 'b'], host: ['a'], forwarded: 'for="[' } }],
    [200, { url: '/a', headers: { 'x-api-key': 'k'.repeat(60_000) } }],
  ])('gets %i for an odd request to explain, %#', async (expected, body) => {
    const { status } = await operate(open, 'POST /v1/explain', body);
    expect(status).toBe(expected);
  });
});

describe('every refusal is an error word and a message', () => {
  const LONG = 'a'.repeat(20_000);
  const HEAD = `Host: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n`;
  const JSON_TYPE = 'Content-Type: application/json\r\n';

  test.each<[string, number, string]>([
    [
      'a path field that is too long',
      400,
      `GET /v1/decisions/${'a'.repeat(200)} HTTP/1.1\r\n${HEAD}`,
    ],
    ['a path with a wrong percent-encoding', 400, `GET /v1/decisions/%zz HTTP/1.1\r\n${HEAD}`],
    [
      'a body that is not JSON',
      400,
      `PUT /v1/log HTTP/1.1\r\n${HEAD}${JSON_TYPE}Content-Length: 1\r\n\r\n{`,
    ],
    ['no Host', 400, 'GET /livez HTTP/1.1\r\n'],
    ['no HTTP', 400, 'nonsense\r\n'],
    ['an unknown method', 400, `BREW /v1/log HTTP/1.1\r\n${HEAD}`],
    [
      'two lengths',
      400,
      `PUT /v1/log HTTP/1.1\r\n${HEAD}Content-Length: 1\r\nContent-Length: 2\r\n`,
    ],
    ['no token', 401, 'GET /v1/log HTTP/1.1\r\nHost: localhost\r\n'.replace('log', 'overrides')],
    [
      'an unknown path',
      404,
      `POST /v1/nothing HTTP/1.1\r\n${HEAD}Content-Type: text/plain\r\nContent-Length: 1\r\n\r\nx`,
    ],
    ['an unknown file of the page', 404, `GET /ui/none.js HTTP/1.1\r\n${HEAD}`],
    ['a method that the path lacks', 405, `PATCH /v1/log HTTP/1.1\r\n${HEAD}`],
    [
      'a body that is too long',
      413,
      `PUT /v1/log HTTP/1.1\r\n${HEAD}${JSON_TYPE}Content-Length: 999999\r\n`,
    ],
    [
      'a body of another kind',
      415,
      `PUT /v1/log HTTP/1.1\r\n${HEAD}Content-Type: text/css\r\nContent-Length: 1\r\n\r\nx`,
    ],
    ['an unknown expectation', 417, `GET /livez HTTP/1.1\r\n${HEAD}Expect: tea\r\n`],
    ['headers that are too long', 431, `GET /livez HTTP/1.1\r\n${HEAD}X-Long: ${LONG}\r\n`],
    ['a URL that is too long', 431, `GET /${LONG} HTTP/1.1\r\n${HEAD}`],
  ])('%s: %i', async (_name, status, request) => {
    const answer = await answerTo(guarded.opsUrl, `${request}\r\n`);
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    expect(statusOf(answer)).toBe(status);
    expect(head).toMatch(/^content-type: application\/json/im);
    expect(JSON.parse(body)).toEqual({
      error: expect.stringMatching(/^[a-z_]+$/),
      message: expect.stringMatching(/^[^%]+$/),
    });
  });

  test.each([
    ['GET', '/v1/log', 'PUT, DELETE'],
    ['POST', '/v1/policies/search/mode', 'PUT, DELETE'],
    ['DELETE', '/livez', 'GET, HEAD'],
    ['TRACE', '/metrics', 'GET, HEAD'],
    ['OPTIONS', '/v1/clients/block', 'POST'],
    ['HEAD', '/v1/explain', 'POST'],
    ['PUT', '/ui/main.js', 'GET, HEAD'],
    ['QUERY', '/v1/overview?x=1', 'GET, HEAD'],
  ])('%s %s is 405, and Allow has the right methods', async (method, path, allow) => {
    const answer = await exchange(
      open.opsUrl,
      `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    );
    expect(statusOf(answer)).toBe(405);
    const [, found = ''] = /^allow: (.*)$/im.exec(answer) ?? [];
    expect(found.split(', ').sort()).toEqual(allow.split(', ').sort());
  });
});

describe('/openapi.json', () => {
  interface Operation {
    readonly operationId?: string;
    readonly summary?: string;
    readonly security?: readonly object[];
    readonly parameters?: readonly { readonly name: string; readonly in: string }[];
    readonly requestBody?: object;
    readonly responses: Readonly<
      Record<string, { readonly description: string; content?: object }>
    >;
  }
  interface Document {
    readonly openapi: string;
    readonly info: { readonly title: string; readonly version: string };
    readonly components?: { readonly securitySchemes: object };
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  }
  const document = async (gateway = open) =>
    (await operate<Document>(gateway, 'GET /openapi.json')).answer;

  test('has every route with its parameters, errors and token', async () => {
    const { openapi, info, paths, components } = await document(guarded);
    expect(openapi).toMatch(/^3\.1\./);
    expect(info).toEqual({ title: expect.any(String), version: expect.any(String) });
    expect(components?.securitySchemes).toEqual({ token: { type: 'http', scheme: 'bearer' } });
    for (const { method, url, operation, schemas } of OPS_ROUTES) {
      const { params, query, body } = schemas();
      const path = url.replaceAll(/:(\w+)/g, '{$1}');
      const found = paths[path]?.[method.toLowerCase()];
      expect(found).toMatchObject({ operationId: operation, security: [{ token: [] }] });
      const named = (place: string) =>
        (found?.parameters ?? []).filter((each) => each.in === place).map(({ name }) => name);
      const keysIn = (schema: object | undefined) =>
        Object.keys((schema as Schema)?.properties ?? {});
      expect(named('path')).toEqual(keysIn(params));
      expect(named('query')).toEqual(keysIn(query));
      expect(found?.requestBody !== undefined).toBe(body !== undefined);
      expect(Object.keys(found?.responses ?? {})).toEqual(
        expect.arrayContaining(['200', '400', '401', '404', '409', '500', '503']),
      );
    }
  });

  test('asks for no token where none is set, but for a caller on this machine', async () => {
    const { components, paths } = await document();
    expect(components).toBeUndefined();
    for (const { method, url } of OPS_ROUTES) {
      const found = paths[url.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()];
      expect(found?.security).toBeUndefined();
      expect(found?.responses).not.toHaveProperty('401');
      expect(found?.responses['403']).toBeDefined();
    }
  });

  test('has a pattern for each client and duration, which other languages read too', async () => {
    const text = JSON.stringify(await document());
    expect(text).not.toMatch(/\\\\p\{/i);
    const patternOf = (name: string) => {
      const [found] = OPS_ROUTES.filter(({ operation }) => operation === 'block');
      const fields = found?.schemas().body?.properties as Record<string, { pattern: string }>;
      return new RegExp(fields[name]?.pattern ?? '(?!)');
    };
    for (const duration of ['1s', '30min', '744h', '31d', '2678400s'])
      expect(duration).toMatch(patternOf('for'));
    for (const none of ['0s', '32d', '745h', '2678401s', '30 min', '1w', '30min\n'])
      expect(none).not.toMatch(patternOf('for'));
    const clients = [
      '203.0.113.9',
      '2001:db8::1',
      '2001:db8::/64',
      '::1',
      'id:acme',
      'user:ö',
      'g',
    ];
    for (const client of [...clients, `k.${'a'.repeat(22)}`, '0f6e2d9c41ab-3'])
      expect(client).toMatch(patternOf('client'));
    for (const none of ['', 'x', '256.0.0.1', '1.2.3', ':::', 'id:', 'example.com'])
      expect(none).not.toMatch(patternOf('client'));
  });

  test('is complete: ids are unique, references exist, answers are described', async () => {
    const whole = await document();
    const operations = Object.entries(whole.paths).flatMap(([path, methods]) => {
      expect(path).toMatch(/^\/[\w{}./-]*$/);
      return Object.entries(methods).map(([method, operation]) => {
        expect(['get', 'post', 'put', 'delete']).toContain(method);
        const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
        const declared = (operation.parameters ?? []).filter((each) => each.in === 'path');
        expect(declared.map(({ name }) => name)).toEqual(inPath);
        return operation;
      });
    });
    const ids = operations.flatMap(({ operationId }) => operationId ?? []);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { summary, responses } of operations) {
      expect(summary).toEqual(expect.any(String));
      for (const { description } of Object.values(responses)) expect(description).toMatch(/\w/);
    }
    const text = JSON.stringify(whole);
    for (const [, pointer = ''] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
      const found = pointer
        .split('/')
        .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], whole);
      expect(found, pointer).toBeDefined();
    }
    for (const path of OPEN_PATHS) {
      expect(whole.paths[path]?.get, path).toMatchObject({ summary: expect.any(String) });
      expect(whole.paths[path]?.get?.security, path).toBeUndefined();
    }
  });
});

test('no address, key or user of a request is in an answer or a log line', async () => {
  const sentinels = new Sentinels();
  const answers: string[] = [];
  const explanations: string[] = [];
  const post = async (path: string, body: object, into = answers) => {
    const { text } = await operate(guarded, `POST ${path}`, body, SHOWN);
    into.push(text);
  };
  for (let round = 0; round < 4; round++) {
    const names = [
      ...[
        sentinels.ipv4(),
        sentinels.ipv6(),
        `${sentinels.ipv6()}/64`,
        `::ffff:${sentinels.ipv4()}`,
      ],
      ...[`key:${sentinels.text('key')}`, `user:${sentinels.text('user')}`],
      // Mistakes in typing or pasting.
      ...[
        sentinels.text('key'),
        `${sentinels.ipv4()}/24`,
        `${sentinels.ipv4()} `,
        `${sentinels.ipv4()}.`,
      ],
      ...[
        `keys:${sentinels.text('key')}`,
        `Bearer ${sentinels.text('key')}`,
        `k.${sentinels.text('key')}`,
      ],
    ];
    for (const client of names) {
      for (const verb of ['block', 'unblock', 'exempt', 'unexempt']) {
        await post(`/v1/clients/${verb}`, { client, ...(/^un/.test(verb) ? {} : TERMS) });
      }
      await post('/v1/clients/reset', { client });
      await post('/v1/clients/block', { client, ...TERMS, for: 'ever' });
      await post('/v1/clients/block', { client, ...TERMS, nonsense: true });
      await post('/v1/clients/block', { client: [client, client], ...TERMS });
    }
    const [address, key, user] = [sentinels.ipv4(), sentinels.text('key'), sentinels.text('user')];
    for (let i = 0; i < 3; i++) await visit(guarded, 'POST /pin', { address, key });
    for (let i = 0; i < 3; i++) await visit(guarded, 'POST /pin', { address, user });
    const headers = { 'x-api-key': key, 'x-user': user, authorization: sentinels.text('token') };
    await post('/v1/explain', { url: '/pin', method: 'POST', headers }, answers);
    // An explanation contains the address of the explained request.
    await post(
      '/v1/explain',
      { url: '/pin', client: address, peer: address, headers },
      explanations,
    );
    for (const path of [
      '/v1/clients/top',
      '/v1/overrides',
      '/v1/policies',
      '/stats',
      '/metrics',
      '/v1/nowhere',
    ]) {
      const { text, status } = await operate(guarded, `GET ${path}?${key}`, undefined, SHOWN);
      if (status === 200 || status === 404) answers.push(text);
      answers.push((await operate(guarded, `GET ${path}`, undefined, SHOWN)).text);
    }
    await operate(guarded, `GET /v1/decisions/${key}`, undefined, SHOWN);
  }
  await eventually(
    async () => guarded.output(),
    (text) => /"event":"operator_action"/.test(text) && /"event":"denied"/.test(text),
  );
  expect(explanations.join()).toContain('198.18.');
  expect(sentinels.findIn(answers.join('\n'))).toEqual([]);
  expect(sentinels.findIn(guarded.output())).toEqual([]);
});

describe('the audit log', () => {
  const actions = () =>
    silent
      .output()
      .split('\n')
      .filter((line) => line.includes('"event":"operator_action"'))
      .map((line) => JSON.parse(line));

  test('has a line for each change: by whom, what, until when and why, also with the log level silent', async () => {
    const address = newAddress();
    await visit(silent, 'POST /pin', { address });
    const terms = { for: '5min', reason: 'a "reason"', by: 'alice' };
    const blocked = await override(silent, 'block', address, terms);
    await lift(silent, 'unblock', address);
    await override(silent, 'exempt', 'id:acme', { ...terms, by: undefined });
    await lift(silent, 'unexempt', 'id:acme');
    await operate(silent, 'POST /v1/clients/reset', {
      client: address,
      policy: 'pin',
      reason: 'sorry',
      by: 'bob',
    });
    await operate(silent, 'POST /v1/clients/reset', { client: `key:${KEYS.acme}` });
    await setMode(silent, 'pin', 'shadow', terms);
    await operate(silent, 'DELETE /v1/policies/pin/mode?by=carol');
    await operate(silent, 'PUT /v1/log', { ...terms, level: 'error', allows_one_in: 7 });
    await operate(silent, 'DELETE /v1/log');
    const lines = await eventually(
      async () => actions(),
      (found) => found.length >= 11,
    );
    const { client, until } = blocked.answer;
    const acme = { subject: expect.stringMatching(/^c\.[\w-]{22}$/), client_id: 'acme' };
    const soon = expect.stringMatching(/^\d{4}-.*Z$/);
    const { reason } = terms;
    expect(lines).toEqual(
      [
        { action: 'block', subject: client, change: 'blocked', until, reason, by: 'alice' },
        { action: 'unblock', subject: client, change: 'no longer blocked', by: 'test' },
        { action: 'exempt', ...acme, change: 'exempt', until: soon, reason, by: 'unknown' },
        { action: 'unexempt', ...acme, change: 'no longer exempt', by: 'test' },
        { action: 'reset', subject: client, change: 'reset pin', reason: 'sorry', by: 'bob' },
        { action: 'reset', ...acme, change: 'reset all policies', by: 'unknown' },
        { action: 'mode', subject: 'pin', change: 'shadow', until: soon, reason, by: 'alice' },
        { action: 'mode', subject: 'pin', change: 'as the policy file says', by: 'carol' },
        { action: 'log', change: 'level error', until: soon, reason, by: 'alice' },
        { action: 'log', change: 'one in 7 allowed requests', until: soon, reason, by: 'alice' },
        { action: 'log', change: 'as at the start', by: 'unknown' },
      ].map((line) => ({
        ...{
          level: 40,
          time: expect.any(Number),
          event: 'operator_action',
          msg: expect.any(String),
        },
        ...line,
      })),
    );
  });

  test.each(['info', 'error', 'silent'])(
    'continues while an override sets the level %s',
    async (level) => {
      await using gateway = await startOperated(policies);
      const address = newAddress();
      await operate(gateway, 'PUT /v1/log', { ...TERMS, level });
      await override(gateway, 'block', address);
      await gateway.printed(/"change":"level \w+"[\s\S]*"change":"blocked"/);
    },
  );

  test('has no line for refused and for reading calls', async () => {
    const before = actions().length;
    await override(silent, 'block', 'nobody');
    await override(silent, 'block', newAddress(), { for: 'ever' });
    await lift(silent, 'unblock', newAddress());
    await setMode(silent, 'nowhere', 'off');
    await operate(silent, 'DELETE /v1/log');
    for (const path of ['/v1/overrides', '/v1/policies', '/v1/clients/top', '/stats']) {
      await operate(silent, `GET ${path}`);
    }
    await operate(silent, 'POST /v1/explain', { url: '/a' });
    // Log lines are in order, so the line of this reset comes after any other.
    await reset(silent, newAddress());
    await eventually(
      async () => actions().length,
      (now) => now > before,
    );
    expect(actions()).toHaveLength(before + 1);
  });
});
