/** The commands for operators: what they print, and their exit codes. */
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Circumstances, runCommand } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, PATIENT } from '../support/gateway.ts';
import {
  KEYS,
  newAddress,
  operate,
  override,
  policyFile,
  startOperated,
  visit,
} from '../support/operations.ts';
import { freePort } from '../support/ports.ts';
import { redisIsHere, startRedis, type TestRedis } from '../support/redis.ts';

const TOKEN = 'the-token-of-all-operators';
const BECAUSE = ['--reason', 'a test'] as const;

const started = new AsyncDisposableStack();
let policies: string;
let gateway: Gateway;
let guarded: Gateway;

beforeAll(async () => {
  policies = policyFile(started);
  [gateway, guarded] = (await Promise.all(
    [{}, { HEADGATE_ADMIN_TOKEN: TOKEN }].map(async (env) =>
      started.use(await startOperated(policies, env)),
    ),
  )) as [Gateway, Gateway];
});
afterAll(() => started.disposeAsync());

interface Typed {
  readonly code: number | null;
  readonly said: string;
  readonly complained: string;
}

async function headgate(
  args: readonly string[],
  circumstances: Circumstances = {},
): Promise<Typed> {
  const { port } = new URL(gateway.opsUrl);
  const env = { HEADGATE_OPS_PORT: port, ...circumstances.env };
  const { code, stdout, stderr } = await runCommand(args, { ...circumstances, env });
  return { code, said: stdout, complained: stderr };
}

/** Runs a command that must succeed, and returns its output. */
async function done(args: readonly string[], circumstances?: Circumstances): Promise<string> {
  const { code, said, complained } = await headgate(args, circumstances);
  expect({ code, complained }).toEqual({ code: 0, complained: '' });
  return said;
}

const TIME = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`;
const SOON = String.raw`in \d+ (?:s|min|h)`;
const AGO = String.raw`(?:\d+ s ago|now)`;

async function denied(address: string): Promise<string> {
  for (;;) {
    const { headers } = await visit(gateway, 'POST /pin', { address });
    const id = headers['x-ratelimit-decision-id'];
    if (id !== undefined) return String(id);
  }
}

test('clients block and unblock', async () => {
  const address = newAddress();
  const said = await done([
    'clients',
    'block',
    address,
    '--for',
    '5min',
    ...BECAUSE,
    '--by',
    'alice',
  ]);
  expect(said).toMatch(
    new RegExp(String.raw`^i\.[\w-]{22}: blocked until ${TIME} UTC, ${SOON}, "a test"\n$`),
  );
  expect(await visit(gateway, '/a', { address })).toMatchObject({ status: 403 });
  const [client = ''] = said.split(':');
  const overrides = await done(['overrides']);
  expect(overrides).toMatch(/^SUBJECT {2,}OVERRIDE {2,}UNTIL \(UTC\) {2,}BY {2,}REASON\n/);
  expect(overrides).toMatch(
    new RegExp(`^${client} +blocked +${TIME}, ${SOON} +alice +a test$`, 'm'),
  );
  expect(await done(['clients', 'unblock', address])).toBe(`${client}: override removed\n`);
  expect(await visit(gateway, '/a', { address })).toMatchObject({ status: 200 });
  expect(await headgate(['clients', 'unblock', address])).toMatchObject({
    ...{ code: 2, said: '' },
    complained: expect.stringMatching(
      /^headgate: no operator blocked this client; if .*\(headgate clients reset\)\n$/,
    ),
  });
});

test('clients exempt and unexempt, also without --by', async () => {
  const address = newAddress();
  const said = await done(['clients', 'exempt', 'id:acme', '--for', '1h', ...BECAUSE]);
  expect(said).toMatch(
    new RegExp(`^id:acme: exempt until .* UTC, ${SOON}, "a test"\n.* with this key is exempt\n$`),
  );
  const { headers } = await visit(gateway, 'POST /pin', { address, key: KEYS.acme });
  expect(headers['x-ratelimit-limit']).toBeUndefined();
  const { overrides } = JSON.parse(await done(['overrides', '-o', 'json']));
  expect(overrides).toEqual([
    expect.objectContaining({ about: 'client', access: 'exempt', client_id: 'acme' }),
  ]);
  expect(await done(['overrides'])).toMatch(/^id:acme +exempt +/m);
  expect(overrides[0].by).toMatch(/\w/);
  expect(await done(['clients', 'unexempt', 'id:acme'])).toMatch(/: override removed\n$/);
  expect(await done(['overrides'])).toBe('no override is in force\n');
});

test('- reads the client from standard input, so that it is in no shell history and no process list', async () => {
  const key = 'a-key-that-leaked';
  const typed = ['clients', 'block', '-', '--for', '5min', ...BECAUSE];
  const said = await done(typed, { input: `  key:${key} \nmore\n` });
  expect(said).toMatch(/^k\.[\w-]{22}: blocked/);
  expect(await visit(gateway, '/a', { address: newAddress(), key })).toMatchObject({ status: 403 });
  const lifted = await done(['clients', 'unblock', '-'], { input: `key:${key}` });
  expect(lifted).toMatch(/^k\.[\w-]{22}: override removed/);
  expect(await headgate(['clients', 'reset', '-'], { input: '' })).toMatchObject({ code: 2 });
});

test('clients top, explain ID and clients reset', async () => {
  const address = newAddress();
  expect(await done(['clients', 'top', '--shadow'])).toBe(
    'no client was denied in the last five minutes\n',
  );
  const id = await denied(address);
  const top = await done(['clients', 'top', '--limit', '100']);
  expect(top).toMatch(/^CLIENT +DENIALS +LIMIT +REASON +SINCE \(UTC\) +LAST +UNTIL +DECISION\n/);
  expect(top).toMatch(
    new RegExp(
      String.raw`^i\.[\w-]{22} +1 +pin +over_limit +(${TIME} +){2}${TIME}, ${SOON} +${id}$`,
      'm',
    ),
  );
  const { clients, gateways } = JSON.parse(await done(['clients', 'top', '-o', 'json']));
  expect(gateways).toEqual({ asked: 1, answered: 1 });
  expect(clients).toContainEqual(
    expect.objectContaining({ decision_id: id, policy: 'pin', denials: 1 }),
  );

  await override(gateway, 'exempt', address);
  const explained = await done(['explain', id]);
  for (const line of [
    new RegExp(`^decision +${id}$`, 'm'),
    /^client +i\.[\w-]{22}, identified by ip$/m,
    /^policy +pin: over_limit, enforced$/m,
    /^limit +pin: 2 requests per day; counted as hg:v1:\{i\./m,
    new RegExp(`^denied +1 time, at ${TIME} UTC; denied until ${TIME} UTC$`, 'm'),
    /^now +remaining: 0; next request allowed in \d+ s$/m,
    new RegExp(
      String.raw`^override +i\.[\w-]{22}: exempt until .*, ${SOON}, by test, "a test"$`,
      'm',
    ),
  ]) {
    expect(explained).toMatch(line);
  }
  expect(JSON.parse(await done(['explain', id, '-o', 'json']))).toMatchObject({ asked_for: id });

  const reset = await done(['clients', 'reset', id, '--policy', 'pin', '--reason', 'sorry']);
  expect(reset).toMatch(/^i\.[\w-]{22}: counters reset: pin\n$/);
  expect(await done(['clients', 'top', '--limit', '100'])).not.toContain(id);
  expect(await done(['explain', id])).toMatch(
    /^denied +1 time, at .*; an operator reset its counters since$/m,
  );
  const all = await done(['clients', 'reset', address]);
  expect(all).toMatch(/: counters reset: pin, tokens, login, local, search, default\n$/);
  expect(await operate(gateway, `POST /v1/clients/unexempt`, { client: address })).toMatchObject({
    status: 200,
  });
  expect(await visit(gateway, 'POST /pin', { address })).toMatchObject({ status: 200 });
  expect(await headgate(['explain', '0123456789ab-1'])).toMatchObject({
    ...{ code: 2, said: '' },
    complained: expect.stringMatching(
      /^headgate: no gateway knows the decision 0123456789ab-1: .*\n$/,
    ),
  });
});

test('clients show prints the limits and the denials of a client by any of its names', async () => {
  const visitor = { address: newAddress(), key: KEYS.globex };
  await eventually(
    () => visit(gateway, 'POST /pin', visitor),
    ({ status }) => status === 429,
  );
  const shown = await done(['clients', 'show', 'id:globex']);
  expect(shown).toMatch(/^client {2}id:globex, c\.[\w-]{22}, a listed API key\n/);
  expect(shown).toMatch(/^now {5}over the limit: pin$/m);
  expect(shown).toMatch(/^pin +2 requests per day +0 +in 24 h$/m);
  expect(shown).toMatch(/^id:globex +pin +over_limit +\d+ /m);
  const { client } = JSON.parse(await done(['clients', 'show', 'id:globex', '-o', 'json']));
  for (const name of [client, `key:${KEYS.globex}`]) {
    expect(await done(['clients', 'show', name])).toContain('over the limit: pin');
  }
  expect(await done(['clients', 'show', visitor.address])).toMatch(/^id:globex +pin /m);
  expect(await headgate(['clients', 'show', 'id:initech'])).toMatchObject({
    ...{ code: 2, said: '' },
    complained: expect.stringContaining('no key in the policy file has this id'),
  });
  await done(['clients', 'reset', 'id:globex']);
});

test('what a customer sends has the decision id in it', async () => {
  const { headers, body } = await eventually(
    () => visit(gateway, 'POST /pin', { address: '203.0.113.77' }),
    ({ status }) => status === 429,
  );
  const id = String(headers['x-ratelimit-decision-id']);
  for (const sent of [body, `X-RateLimit-Decision-Id: ${id}`, ` ${id.toUpperCase()}\n`]) {
    expect(await done(['explain', sent])).toContain(`decision  ${id}\n`);
  }
  expect(await done(['clients', 'reset', body])).toContain(': counters reset: pin, ');
  expect(await headgate(['explain', 'my login does not work'])).toMatchObject({
    code: 2,
    complained: expect.stringContaining('there is no decision id in this: one is like '),
  });
  expect(await headgate(['explain', 'id:acme'])).toMatchObject({
    code: 2,
    complained: expect.stringContaining('headgate clients show id:acme\n'),
  });
  // It may be a secret.
  expect((await headgate(['explain', 'key:secret'])).complained).not.toContain('secret');
});

test('a reset by the decision of a key names the address that it covers too', async () => {
  const visitor = { address: newAddress(), key: KEYS.acme };
  const { headers } = await eventually(
    () => visit(gateway, 'POST /pin', visitor),
    ({ status }) => status === 429,
  );
  const id = String(headers['x-ratelimit-decision-id']);
  const text = await done(['clients', 'reset', id, '--policy', 'pin']);
  expect(text).toMatch(/^id:acme: counters reset: pin; also those of its address i\.[\w-]{22}\n$/);
  await gateway.printed(/"change":"reset pin, also of its address i\./);
});

test('explain says who blocked a client, until when and why, and who unblocked it', async () => {
  const address = newAddress();
  const request = ['explain', '--url', '/a', '--client', address, '--gateway', gateway.opsUrl];
  await done(['clients', 'block', address, '--for', '1h', ...BECAUSE, '--by', 'alice']);
  const { headers } = await visit(gateway, '/a', { address });
  const id = String(headers['x-ratelimit-decision-id']);
  const until = String.raw`i\.[\w-]{22}: blocked until ${TIME} UTC, ${SOON}, by alice, "a test"`;
  expect(await done(request)).toMatch(
    new RegExp(`^ +an override applies: the client is blocked\n +override: ${until}$`, 'm'),
  );
  const explained = await done(['explain', id]);
  expect(explained).toMatch(new RegExp(`^override +${until}$`, 'm'));
  expect(explained).toMatch(new RegExp(`^denied .*; blocked until ${TIME} UTC, ${SOON}$`, 'm'));
  const listed = await done(['clients', 'top', '--limit', '100']);
  expect(listed).toMatch(new RegExp(`blocked +(${TIME} +){2}${TIME}, ${SOON} +${id}$`, 'm'));

  await done(['clients', 'unblock', address, '--by', 'bob']);
  const ended = String.raw`i\.[\w-]{22}: blocked by alice, "a test"; unblocked at ${TIME} UTC, ${AGO}, by bob`;
  expect(await done(request)).toMatch(new RegExp(`^ +ended override: ${ended}$`, 'm'));
  expect(await done(['explain', id])).toMatch(new RegExp(`^override +${ended}$`, 'm'));
});

test('a listed key is shown by its id, and a denial that it was charged for exempts the key', async () => {
  const address = newAddress();
  const spent = async () => {
    for (;;) {
      const { headers } = await visit(gateway, 'POST /pin', { address, key: KEYS.globex });
      const id = headers['x-ratelimit-decision-id'];
      if (id !== undefined) return String(id);
    }
  };
  const id = await spent();
  expect(await done(['clients', 'top', '--limit', '100'])).toMatch(/^id:globex +1 +pin /m);
  expect(await done(['explain', id])).toMatch(
    /^client +id:globex, c\.[\w-]{22}, identified by api_key$/m,
  );
  await gateway.printed(/"event":"denied".*"client_id":"globex"/);
  const key = ['-H', `x-api-key: ${KEYS.globex}`, '--gateway', gateway.opsUrl];
  expect(await done(['explain', '--url', '/a', ...key])).toMatch(/ the key is listed: id:globex$/m);
  expect(await done(['clients', 'exempt', id, '--for', '1h', ...BECAUSE])).toMatch(
    /^id:globex: exempt until .*\nevery request with this key is exempt\n$/,
  );
  expect(
    await visit(gateway, 'POST /pin', { address: newAddress(), key: KEYS.globex }),
  ).toMatchObject({ status: 200 });
  expect(await done(['clients', 'unexempt', id])).toBe('id:globex: override removed\n');
  expect(await done(['clients', 'reset', 'id:globex'])).toMatch(/^id:globex: counters reset: /);
});

test('tables have colors where a terminal has them, and never obey what others wrote', async () => {
  const address = newAddress();
  await override(gateway, 'block', address, { reason: 'a \u202etest' });
  const env = { FORCE_COLOR: '1' };
  const colored = await done(['overrides'], { env });
  expect(colored).toContain('\x1b[1mSUBJECT\x1b[22m');
  expect(colored).toContain('\x1b[31mblocked\x1b[39m');
  expect(colored).toContain('a \\u{202e}test');
  for (const command of [['policies', 'list'], ['stats'], ['overrides'], ['clients', 'top']]) {
    const plain = await done(command);
    const shown = await done(command, { env });
    expect(stripVTControlCharacters(shown)).toBe(plain);
    expect(await done(command, { env: { NO_COLOR: '1' } })).toBe(plain);
  }
  await operate(gateway, 'POST /v1/clients/unblock', { client: address });
});

test('policies list, mode and restore', async () => {
  const said = await done(['policies', 'mode', 'search', 'shadow', '--for', '2h', ...BECAUSE]);
  expect(said).toMatch(new RegExp(`^search: shadow until ${TIME} UTC, ${SOON}, "a test"\n$`));
  const listed = await done(['policies', 'list']);
  expect(listed).toMatch(/^POLICY +MODE +LIMITS\n/);
  expect(listed).toMatch(
    /^search +shadow \(enforce in the file\) +100 requests per hour, per client; plan pro: 500 requests per hour, per client$/m,
  );
  expect(listed).toMatch(/^pin +enforce +2 requests per day, per client$/m);
  expect(JSON.parse(await done(['policies', 'list', '-o', 'json'])).policies).toContainEqual(
    expect.objectContaining({
      ...{ name: 'search', mode: 'shadow', mode_of_file: 'enforce' },
      plans: [{ plan: 'pro', limits: ['500 requests per hour, per client'] }],
    }),
  );
  expect(await done(['policies', 'restore', 'search'])).toBe(
    "search: override removed; the file's mode applies\n",
  );
  expect(await headgate(['policies', 'restore', 'search'])).toMatchObject({ code: 2 });
  expect(await done(['policies', 'list'])).toMatch(/^search +enforce +100/m);
});

test('log set and restore', async () => {
  const lines = ['--level', 'debug', '--allows-one-in', '1'];
  const said = await done(['log', 'set', ...lines, '--for', '10min', ...BECAUSE]);
  expect(said).toMatch(
    /^log: level debug until .* UTC, in .*, "a test"\nlog: 1 in 1 allowed requests until .* UTC, in .*, "a test"\n$/,
  );
  await visit(gateway, '/a', { address: newAddress() });
  await gateway.printed(/"event":"allowed"/);
  expect(await done(['overrides'])).toMatch(
    /^log +level debug +.*\nlog +1 in 1 allowed requests +/m,
  );
  expect(await done(['log', 'restore'])).toBe(
    'log: override removed; the settings from startup apply\n',
  );
  expect(await headgate(['log', 'restore'])).toMatchObject({ code: 2 });
});

test('stats', async () => {
  await visit(gateway, '/a', { address: newAddress() });
  expect(await done(['stats'])).toMatch(
    /^store +memory\nrunning +1 gateway\nactive windows +[1-9]\d*\n$/,
  );
  expect(JSON.parse(await done(['stats', '-o', 'json']))).toMatchObject({
    store: 'memory',
    gateways: 1,
  });
});

test('a reason with control characters is refused, because terminals would obey them', async () => {
  for (const [name, value] of [
    ['reason', 'x\u001b]0;owned\u0007'],
    ['reason', 'two\nlines'],
    ['by', '\u009b2J'],
  ] as const) {
    const terms = { reason: 'a test', by: 'alice', [name]: value };
    const { status, answer } = await override(gateway, 'block', newAddress(), terms);
    expect({ status, answer }).toMatchObject({
      status: 400,
      answer: { message: expect.stringContaining(`${name}: must not contain control characters`) },
    });
  }
});

describe('explain --gateway', () => {
  const pin = (address: string) => [
    'explain',
    '--method',
    'POST',
    '--url',
    '/pin',
    '--client',
    address,
  ];

  test('uses the policies, counters and overrides of a running gateway, and counts nothing', async () => {
    const address = newAddress();
    await visit(gateway, 'POST /pin', { address });
    for (let i = 0; i < 2; i++) {
      const said = await done([...pin(address), '--gateway', gateway.opsUrl]);
      expect(said).toMatch(/^answer +200, by the current counters$/m);
      expect(said).toMatch(/X-RateLimit-Remaining: 0$/m);
    }
    expect(await visit(gateway, 'POST /pin', { address })).toMatchObject({
      ...{ status: 200, headers: { 'x-ratelimit-remaining': '0' } },
    });
    expect(await done([...pin(address), '--gateway', gateway.opsUrl])).toMatch(/^answer +429, by/m);
    await override(gateway, 'block', address);
    const said = await done([...pin(address), '--gateway', `${gateway.opsUrl}/`]);
    expect(said).toMatch(/an override applies: the client is blocked/);
    expect(said).toMatch(/^answer +403, by the current counters$/m);
    await operate(gateway, 'POST /v1/clients/unblock', { client: address });
  });

  test('shows the answer of the proxy that --proxy names', async () => {
    const malformed = ['explain', '--url', '/%00', '--gateway', gateway.opsUrl];
    expect(await done(malformed)).toMatch(/^answer +400, .*\n +sent to envoy \(the default/m);
    const said = await done([...malformed, '--proxy', 'ingress-nginx']);
    expect(said).toMatch(/^answer +403, .*\n +sent to ingress-nginx$/m);
  });

  test('sends the headers of the command line', async () => {
    const typed = ['-H', `X-Api-Key: ${KEYS.acme}`, '-H', 'a: b: c', '-o', 'json'];
    const said = await done([...pin(newAddress()), ...typed, '--gateway', gateway.opsUrl]);
    expect(JSON.parse(said).steps).toContainEqual({
      about: 'identity',
      what: 'api_key identifies the client',
    });
  });

  test.each([
    ['--live', '--gateway', 'http://127.0.0.1:1'],
    ['--policies', 'x', '--gateway', 'http://127.0.0.1:1'],
    ['--gateway', 'nonsense'],
    ['0123456789ab-1'],
  ])('is refused with %j %s %s', async (...args) => {
    expect(await headgate([...pin(newAddress()), ...args])).toMatchObject({ code: 2, said: '' });
  });
});

describe.skipIf(!redisIsHere)('explain --live', () => {
  let redis: TestRedis;
  let counting: Gateway;
  beforeAll(async () => {
    redis = started.use(await startRedis());
    counting = started.use(
      await startOperated(policies, { ...PATIENT, HEADGATE_REDIS_URL: redis.url }),
    );
  });
  const live = (address: string) => [
    ...['explain', '--live', '--policies', policies, '--url', '/api/search', '--client', address],
  ];

  test('uses the counters and overrides in Redis, and counts nothing', async () => {
    const address = newAddress();
    const search = () => visit(counting, '/api/search', { address });
    const env = { HEADGATE_REDIS_URL: redis.url };
    expect((await search()).headers['x-ratelimit-remaining']).toBe('99');
    for (let i = 0; i < 2; i++) {
      const said = await done(live(address), { env });
      expect(said).toMatch(/^answer +200, by the current counters$/m);
      expect(said).toMatch(/X-RateLimit-Remaining: 98$/m);
    }
    expect((await search()).headers['x-ratelimit-remaining']).toBe('98');
    await override(counting, 'block', address);
    expect(await done(live(address), { env })).toMatch(/^answer +403, by the current counters$/m);
  });

  test('reports that Redis is down, or that no Redis is configured', async () => {
    const env = { HEADGATE_REDIS_URL: `redis://127.0.0.1:${await freePort()}` };
    expect(await headgate(live(newAddress()), { env })).toMatchObject({
      ...{ code: 1, said: '' },
      complained: expect.stringMatching(/^headgate: Redis [^\n]*\n$/),
    });
    expect(await headgate(live(newAddress()))).toMatchObject({
      ...{ code: 3, said: '' },
      complained: expect.stringContaining(
        'HEADGATE_REDIS_URL: --live needs it to read the counters',
      ),
    });
  });
});

const COMMANDS: readonly (readonly string[])[] = [
  ['clients', 'top'],
  ['clients', 'block', '203.0.113.9', '--for', '1h', ...BECAUSE],
  ['overrides'],
  ['policies', 'list'],
  ['explain', '0123456789ab-1'],
];

test('one line says that no gateway answers: exit code 1', async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const typed = await Promise.all(COMMANDS.map((args) => headgate([...args, '--gateway', url])));
  const complained = `headgate: no gateway answers at ${url}: start it, or name another with --gateway\n`;
  expect(typed).toEqual(COMMANDS.map(() => ({ code: 1, said: '', complained })));
});

describe('the token', () => {
  test('comes from the environment, and the message about a wrong one does not repeat it', async () => {
    const typed = ['overrides', '--gateway', guarded.opsUrl];
    expect(await done(typed, { env: { HEADGATE_ADMIN_TOKEN: TOKEN } })).toBe(
      'no override is in force\n',
    );
    const wrong = 'a-token-that-is-not-it';
    for (const env of [{}, { HEADGATE_ADMIN_TOKEN: wrong }]) {
      const { code, said, complained } = await headgate(typed, { env });
      expect({ code, said }).toEqual({ code: 1, said: '' });
      expect(complained).toMatch(
        /^headgate: the gateway [^\n]* admin token: set HEADGATE_ADMIN_TOKEN [^\n]*\n$/,
      );
      expect(complained).not.toContain(wrong);
    }
  });

  test('is refused if it is too short: exit code 3', async () => {
    const env = { HEADGATE_ADMIN_TOKEN: 'short' };
    const { code, said, complained } = await headgate(['overrides'], { env });
    expect({ code, said }).toEqual({ code: 3, said: '' });
    expect(complained).toMatch(/HEADGATE_ADMIN_TOKEN: must be at least 16/);
    expect(complained).not.toContain('short');
  });
});

test('a --gateway that names the check port fails with one line', async () => {
  const { code, complained } = await headgate(['overrides', '--gateway', gateway.url]);
  expect({ code: code !== 0, complained }).toEqual({
    code: true,
    complained: expect.stringMatching(/^headgate: [^\n]*\n$/),
  });
});

test.concurrent.each<[readonly string[], string]>([
  [
    ['clients', 'block', '203.0.113.9', '--for', 'ever', ...BECAUSE],
    'for: "ever" is not a duration',
  ],
  [['clients', 'block', '203.0.113.9', ...BECAUSE], '--for'],
  [['clients', 'unblock'], "'client'"],
  [['clients', 'block', 'nobody', '--for', '1h', ...BECAUSE], 'unknown client'],
  [['clients', 'block', '203.0.113.0/24', '--for', '1h', ...BECAUSE], 'in the policy file'],
  [['clients', 'exempt', 'id:acne', '--for', '1h', ...BECAUSE], 'acme'],
  [['clients', 'reset', '203.0.113.9', '--policy', 'logon'], 'there is no policy "logon"'],
  [['clients', 'top', '--limit', '0'], 'from 1 to 100'],
  [['clients', 'top', '-o', 'xml'], 'text or json'],
  [['policies', 'mode', 'logon', 'off', '--for', '1h', ...BECAUSE], 'there is no policy "logon"'],
  [['policies', 'mode', 'pin', 'on', '--for', '1h', ...BECAUSE], 'shadow'],
  [['policies', 'restore', '../pin'], '../pin'],
  [['log', 'set', '--for', '1h', ...BECAUSE], 'level'],
  [['log', 'set', '--allows-one-in', '0', '--for', '1h', ...BECAUSE], 'from 1 to'],
  [['overrides', '--gateway', 'ftp://127.0.0.1'], 'http://127.0.0.1:9464'],
])('%j: exit code 2', async (args, said) => {
  const typed = await headgate(args);
  expect(typed).toEqual({
    ...{ code: 2, said: '' },
    complained: expect.stringContaining(said),
  });
  expect(typed.complained).not.toMatch(/^\s+at /m);
});
