/** Overrides and resets at one gateway apply in all gateways, expire, and survive failures of Redis. */
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Gateway, type GatewayProcess, PATIENT } from '../support/gateway.ts';
import { call, type HttpAnswer, statuses } from '../support/http.ts';
import { metric } from '../support/metrics.ts';
import {
  EXEMPT_ADDRESS,
  KEYS,
  LOCAL_LIMIT,
  lift,
  newAddress,
  type OpsAnswer,
  operate,
  override,
  policyFile,
  reset,
  setMode,
  startOperated,
  startOperatedProcess,
  TERMS,
  type Visitor,
  visit,
} from '../support/operations.ts';
import {
  connectTo,
  ownRedisIsHere,
  startRedis,
  testWithOwnRedis,
  testWithRedis,
} from '../support/redis.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { lookAt, type RedisNode, startRedisNode } from '../support/redis-node.ts';
import { ACL_FILE, addShippedAccount, byShippedAccount } from '../support/shipped-account.ts';

const WORKERS = 2;

interface Override {
  readonly about: string;
  readonly client: string;
  readonly until: string;
}
interface Overrides {
  readonly overrides: readonly Override[];
}
interface Policies {
  readonly policies: readonly { readonly name: string; readonly mode: string }[];
}
interface Decision {
  readonly override?: Override;
}
interface Top {
  readonly clients: readonly {
    readonly client: string;
    readonly policy: string;
    readonly denials: number;
    readonly decision_id: string;
  }[];
  readonly gateways: { readonly asked: number; readonly answered: number };
}

const started = new AsyncDisposableStack();
let redis: RedisNode;
let admin: Redis;
let policies: string;
let one: Gateway;
/** A process, because a test freezes it. */
let two: GatewayProcess;
/** Has several workers. */
let many: Gateway;
let all: readonly Gateway[];

afterAll(() => started.disposeAsync());

/** Keeps its data and its accounts across a restart. */
function startLastingRedis(): Promise<RedisNode> {
  return startRedisNode({
    args: (port) => [
      ...['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--aclfile', 'users.acl'],
      ...['--appendonly', 'yes', '--appendfsync', 'always'],
    ],
    files: () => ({ 'users.acl': readFileSync(ACL_FILE, 'utf8') }),
  });
}

const WITHIN_MS = 60_000;

/** Waits until it is so three times in a row at each gateway, so that more than one worker has answered. */
async function everywhere(isSo: (gateway: Gateway) => Promise<boolean>, gateways = all) {
  await Promise.all(
    gateways.map(async (gateway) => {
      let times = 0;
      const check = async () => {
        times = (await isSo(gateway)) ? times + 1 : 0;
        return times;
      };
      await eventually(check, () => times >= 3, WITHIN_MS, `so at ${gateway.opsUrl}`);
    }),
  );
}

/** Makes a change, waits until it has taken effect in all gateways, and resolves to the answer to the change. */
async function holds<T>(
  change: () => Promise<OpsAnswer<T>>,
  isSo: (gateway: Gateway) => Promise<boolean>,
): Promise<T> {
  const answer = await done(change());
  await everywhere(isSo);
  return answer;
}

/** The answer of a call that must succeed. */
async function done<T>(call: Promise<OpsAnswer<T>>): Promise<T> {
  const { status, answer, text } = await call;
  expect({ status, text }).toEqual({ status: 200, text });
  return answer;
}

const answers = (status: number, visitor: Visitor, what = '/a') => {
  return async (gateway: Gateway) => (await visit(gateway, what, visitor)).status === status;
};
const isBlocked = (visitor: Visitor) => answers(403, visitor);
const isAdmitted = (visitor: Visitor) => answers(200, visitor);
/** The answer to an uncounted request has no limit. */
const isUncounted = (visitor: Visitor) => async (gateway: Gateway) => {
  const { status, headers } = await visit(gateway, 'POST /pin', visitor);
  return status === 200 && headers['x-ratelimit-limit'] === undefined;
};

const isCounted = async (gateway: Gateway) => {
  const { headers } = await visit(gateway, '/a', { address: newAddress() });
  return headers['x-ratelimit-limit'] !== undefined && headers['x-ratelimit-mode'] === undefined;
};

const isIn = (policy: string, mode: string) => async (gateway: Gateway) => {
  const { answer } = await operate<Policies>(gateway, 'GET /v1/policies');
  return answer.policies.find(({ name }) => name === policy)?.mode === mode;
};

/** Uses up the limit of a policy, and resolves to the first denial. */
async function useUp(gateway: Gateway, what: string, visitor: Visitor): Promise<HttpAnswer> {
  return eventually(
    () => visit(gateway, what, visitor),
    ({ status }) => status === 429,
    WITHIN_MS,
    'a denial',
  );
}

/** Sends another unknown key with each request, until the address is denied. */
async function guessKeys(address: string): Promise<HttpAnswer> {
  let guesses = 0;
  return eventually(
    () => visit(one, 'POST /pin', { address, key: `guess-${guesses++}` }),
    ({ status }) => status === 429,
    WITHIN_MS,
  );
}

const idOf = ({ headers }: HttpAnswer) => String(headers['x-ratelimit-decision-id']);
const remainingOf = ({ headers }: HttpAnswer) => Number(headers['x-ratelimit-remaining']);

async function overridesOf(gateway: Gateway): Promise<readonly Override[]> {
  const { status, answer } = await operate<Overrides>(gateway, 'GET /v1/overrides');
  expect(status).toBe(200);
  return answer.overrides;
}

function logged(gateway: Gateway, event: string): Record<string, unknown>[] {
  const lines = gateway.output().split('\n');
  return lines
    .filter((line) => line.includes(`"event":"${event}"`))
    .map((line) => JSON.parse(line));
}

describe.skipIf(!ownRedisIsHere)('gateways on one Redis, by the shipped account', () => {
  beforeAll(async () => {
    policies = policyFile(started);
    redis = started.use(await startLastingRedis());
    admin = started.adopt(lookAt(redis), (client) => client.disconnect());
    const env = { HEADGATE_REDIS_URL: byShippedAccount(redis.url) };
    const withWorkers = { ...env, HEADGATE_WORKERS: String(WORKERS) };
    [one, two, many] = await Promise.all([
      startOperated(policies, env).then((gateway) => started.use(gateway)),
      startOperatedProcess(policies, env).then((gateway) => started.use(gateway)),
      startOperatedProcess(policies, withWorkers).then((gateway) => started.use(gateway)),
    ]);
    all = [one, two, many];
    // If the machine is busy, a start does not wait for Redis.
    await everywhere(isCounted);
  });

  test('overrides and resets are announced to the other gateways', async () => {
    await using lab = new AsyncDisposableStack();
    const listener = lab.adopt(lookAt(redis), (client) => client.disconnect());
    const heard: string[] = [];
    listener.on('message', (channel) => void heard.push(channel));
    await listener.subscribe('hg:v1:notices', 'hg:v1:reset');
    const address = newAddress();
    await done(override(one, 'block', address));
    await done(lift(many, 'unblock', address));
    await done(reset(two, address));
    await eventually(
      async () => heard,
      () => heard.length >= 3,
    );
    expect(heard).toEqual(['hg:v1:notices', 'hg:v1:notices', 'hg:v1:reset']);
  });

  describe('an override at one gateway applies in all gateways', () => {
    test.each(['one', 'two', 'many'])('made at gateway %s', async (name) => {
      const told = { one, two, many }[name] as Gateway;
      const visitor = { address: newAddress() };
      await everywhere(isAdmitted(visitor));
      await holds(() => override(told, 'block', visitor.address), isBlocked(visitor));
      await holds(() => lift(told, 'unblock', visitor.address), isAdmitted(visitor));
      await holds(() => override(told, 'exempt', visitor.address), isUncounted(visitor));
      await holds(
        () => lift(told, 'unexempt', visitor.address),
        async (gateway) => {
          const { headers } = await visit(gateway, 'POST /pin', visitor);
          return headers['x-ratelimit-limit'] === '2';
        },
      );
    });

    test('made at one of several workers', async () => {
      const address = newAddress();
      await override(many, 'block', address);
      const [{ client } = { client: '' }] = (await overridesOf(many)).slice(-1);
      await eventually(
        async () => (await overridesOf(one)).map((each) => each.client),
        (clients) => clients.includes(client),
      );
    });

    test('for a client id of the log', async () => {
      const visitor = { address: newAddress() };
      const id = idOf(await useUp(one, 'POST /pin', visitor));
      const line = await eventually(
        async () => logged(one, 'denied').find((each) => each.decision_id === id),
        (found) => found !== undefined,
      );
      const client = String(line?.client);
      expect(client).toMatch(/^i\.[\w-]{22}$/);
      await holds(() => override(two, 'block', client), isBlocked(visitor));
      await holds(() => lift(many, 'unblock', client), isAdmitted(visitor));
    });

    test('but not for longer than the client id of an address is valid', async () => {
      const { answer } = await override(one, 'block', newAddress());
      const { status, answer: refused } = await override(two, 'exempt', String(answer.client), {
        for: '7d',
      });
      expect({ status, refused }).toEqual({
        status: 409,
        refused: { error: 'not_possible', message: expect.stringContaining('name the address') },
      });
    });

    test('for an address, and for a month', async () => {
      const visitor = { address: newAddress() };
      const { until } = await holds(
        () => override<Override>(one, 'block', visitor.address, { for: '31d' }),
        isBlocked(visitor),
      );
      expect(Date.parse(String(until)) - Date.now()).toBeGreaterThan(30 * 86_400_000);
      // The override of a client replaces its previous one, whichever of its names is given.
      const before = (await overridesOf(two)).length;
      await holds(() => override(two, 'exempt', visitor.address), isUncounted(visitor));
      expect(await overridesOf(two)).toHaveLength(before);
      await holds(() => lift(many, 'unexempt', visitor.address), isAdmitted(visitor));
    });

    test('for the client of a decision', async () => {
      const visitor = { address: newAddress() };
      const id = idOf(await useUp(many, 'POST /pin', visitor));
      await holds(() => override(two, 'block', id), isBlocked(visitor));
      await holds(() => lift(one, 'unblock', id), isAdmitted(visitor));
    });

    test('and is found by a decision about a blocked address, even if the client sent a key', async () => {
      const visitor = { address: newAddress() };
      await holds(() => override(one, 'block', visitor.address), isBlocked(visitor));
      const id = idOf(await visit(two, '/a', { ...visitor, key: 'any' }));
      const { answer } = await operate<Decision>(many, `GET /v1/decisions/${id}`);
      expect(answer.override).toMatchObject({ access: 'blocked', reason: TERMS.reason });
      await holds(() => lift(one, 'unblock', id), isAdmitted(visitor));
    });

    test('for the address of a client that guesses keys, by a decision', async () => {
      const address = newAddress();
      const denied = await guessKeys(address);
      await holds(() => override(two, 'block', idOf(denied)), isBlocked({ address, key: 'guess' }));
      await everywhere(isBlocked({ address }));
    });

    test('for the /64 network of an IPv6 address', async () => {
      await holds(
        () => override(one, 'block', '2001:db8:1:1::5'),
        isBlocked({ address: '2001:db8:1:1:ffff::1' }),
      );
      await everywhere(isAdmitted({ address: '2001:db8:1:2::5' }));
      await holds(
        () => lift(two, 'unblock', '2001:db8:1:1::/64'),
        isAdmitted({ address: '2001:db8:1:1::5' }),
      );
    });

    test.each([
      ['2001:db8:2:1::/64', '2001:db8:2:1::9', '2001:db8:2:2::9'],
      ['2001:db8:3::/48', '2001:db8:3:77::9', '2001:db8:4::9'],
    ])('for the network %s', async (network, inside, outside) => {
      await holds(() => override(two, 'block', network), isBlocked({ address: inside }));
      await everywhere(isAdmitted({ address: outside }));
    });

    test.each<[string, string, Visitor, Visitor]>([
      ['a listed key by its id', 'id:acme', { key: KEYS.acme }, { key: KEYS.globex }],
      ['a listed key by itself', `key:${KEYS.acme}`, { key: KEYS.acme }, { key: KEYS.globex }],
      ['another key', 'key:found-in-a-leak', { key: 'found-in-a-leak' }, { key: 'another' }],
      ['a user', 'user:bob', { user: 'bob' }, { user: 'bo' }],
    ])('for %s', async (_what, name, visitor, other) => {
      const address = newAddress();
      await holds(() => override(many, 'block', name), isBlocked({ ...visitor, address }));
      await everywhere(isAdmitted({ ...other, address }));
      await holds(() => lift(one, 'unblock', name), isAdmitted({ ...visitor, address }));
    });

    test('and an exemption wins over a block', async () => {
      const address = newAddress();
      await override(one, 'block', address);
      await holds(
        () => override(two, 'exempt', 'id:globex'),
        isUncounted({ address, key: KEYS.globex }),
      );
      await everywhere(isBlocked({ address }));
      await lift(one, 'unexempt', 'id:globex');
    });

    test('and a block wins over the exempt list of the policy file', async () => {
      const visitor = { address: EXEMPT_ADDRESS };
      await everywhere(isUncounted(visitor));
      await holds(() => override(one, 'block', EXEMPT_ADDRESS), isBlocked(visitor));
      await holds(() => lift(one, 'unblock', EXEMPT_ADDRESS), isUncounted(visitor));
    });

    test('for the log of allowed requests, in every worker', async () => {
      await done(operate(one, 'PUT /v1/log', { ...TERMS, allows_one_in: 1 }));
      const logging = async () => {
        await Promise.all(all.map((gateway) => visit(gateway, '/a', { address: newAddress() })));
        const workers = logged(many, 'allowed').map(({ worker }) => worker);
        const alone = [one, two].filter((gateway) => logged(gateway, 'allowed').length > 0);
        return alone.length + new Set(workers).size;
      };
      await eventually(logging, (processes) => processes === 2 + WORKERS, WITHIN_MS);
      await done(operate(two, 'DELETE /v1/log'));
    });

    test('for the log level', async () => {
      const tell = (level: string) => operate(two, 'PUT /v1/log', { ...TERMS, level });
      expect(await tell('silent')).toMatchObject({ status: 200 });
      await everywhere(async (gateway) =>
        (await overridesOf(gateway)).some(({ about }) => about === 'log_level'),
      );
      const silenced = idOf(await useUp(one, 'POST /pin', { address: newAddress() }));
      expect(await operate(two, 'DELETE /v1/log')).toMatchObject({ status: 200 });
      await everywhere(async (gateway) =>
        (await overridesOf(gateway)).every(({ about }) => about !== 'log_level'),
      );
      const id = idOf(await useUp(one, 'POST /pin', { address: newAddress() }));
      await one.printed(new RegExp(`"decision_id":"${id}"`));
      expect(one.output()).not.toContain(silenced);
    });
  });

  test('an override expires, and not before its time', async () => {
    const visitor = { address: newAddress() };
    const { until } = await holds(
      () => override<Override>(one, 'block', visitor.address, { for: '2s' }),
      isBlocked(visitor),
    );
    const untilMs = Date.parse(String(until));
    await Promise.all(
      all.map(async (gateway) => {
        await eventually(
          () => visit(gateway, '/a', visitor),
          ({ status }) => status === 200,
          WITHIN_MS,
        );
        expect(Date.now()).toBeGreaterThanOrEqual(untilMs);
      }),
    );
    await everywhere(isAdmitted(visitor));
    expect((await overridesOf(one)).map((each) => each.until)).not.toContain(until);
  });

  test('every gateway knows who unblocked a client, and why it was blocked', async () => {
    const address = newAddress();
    await done(override(one, 'block', address, { reason: 'it hammers' }));
    const id = idOf(
      await eventually(
        () => visit(two, '/a', { address }),
        ({ status }) => status === 403,
        WITHIN_MS,
      ),
    );
    await everywhere(isBlocked({ address }));
    await done(lift(two, 'unblock', address));
    await everywhere(isAdmitted({ address }));
    for (const gateway of all) {
      const { answer } = await operate(gateway, `GET /v1/decisions/${id}`);
      expect(answer).toMatchObject({
        reason: 'blocked',
        ended_override: {
          override: { access: 'blocked', reason: 'it hammers', by: 'test' },
          ended_by: 'test',
        },
      });
      expect(answer).not.toHaveProperty('override');
    }
  });

  describe('a reset', () => {
    test('removes the client from the list of every gateway until it is denied again', async () => {
      const visitor = { address: newAddress() };
      for (const gateway of all) await useUp(gateway, 'POST /pin', visitor);
      const id = idOf(await visit(one, 'POST /pin', visitor));
      const { answer: decision } = await operate(one, `GET /v1/decisions/${id}`);
      const listedBy = async (gateway: Gateway) => {
        const { answer } = await operate<Top>(gateway, 'GET /v1/clients/top?limit=100');
        return answer.clients.some(({ client }) => client === decision.client);
      };
      await everywhere(listedBy);
      await done(reset(two, visitor.address));
      await everywhere(async (gateway) => !(await listedBy(gateway)));
      expect(await operate(many, `GET /v1/decisions/${id}`)).toMatchObject({ status: 200 });
      await useUp(one, 'POST /pin', visitor);
      await everywhere(listedBy, [many]);
    });

    test('makes every gateway forget a denial', async () => {
      const visitor = { address: newAddress() };
      const search = (gateway: Gateway) => visit(gateway, '/api/search', visitor);
      for (const told of all) {
        await Promise.all(Array.from({ length: 110 }, (_, i) => search(all[i % 3] as Gateway)));
        for (const gateway of [...all, many, many])
          expect((await search(gateway)).status).toBe(429);
        expect(await reset(told, visitor.address)).toMatchObject({ status: 200 });
        await everywhere(answers(200, visitor, '/api/search'));
      }
    });

    test('of one policy keeps the counts of the others', async () => {
      const visitor = { address: newAddress() };
      await useUp(one, 'POST /pin', visitor);
      await useUp(two, 'POST /tokens', visitor);
      const { answer } = await reset(many, visitor.address, 'pin');
      expect(answer.policies).toEqual(['pin']);
      // Until it hears of the reset, a gateway repeats the denial.
      const admitted = await eventually(
        () => visit(one, 'POST /pin', visitor),
        ({ status }) => status === 200,
        WITHIN_MS,
      );
      expect(remainingOf(admitted)).toBe(1);
      expect((await visit(one, 'POST /tokens', visitor)).status).toBe(429);
    });

    test('by a decision about an unknown key resets the address', async () => {
      const address = newAddress();
      const denied = await guessKeys(address);
      expect(await reset(two, idOf(denied))).toMatchObject({ status: 200 });
      expect(await visit(many, 'POST /pin', { address, key: 'guess' })).toMatchObject({
        status: 200,
      });
    });

    test('by a decision resets one of two keys of an address', async () => {
      const address = newAddress();
      await useUp(one, 'POST /pin', { address, key: 'eve' });
      const denied = await useUp(one, 'POST /pin', { address, key: 'mallory' });
      expect(await reset(many, idOf(denied))).toMatchObject({ status: 200 });
      const mallory = { address, key: 'mallory' };
      expect(await statuses(3, () => visit(two, 'POST /pin', mallory))).toEqual([200, 200, 429]);
    });

    test('by a decision about a single key resets the key', async () => {
      const visitor = { address: newAddress(), key: 'made-up-for-long' };
      const denied = await useUp(one, 'POST /pin', visitor);
      expect(await reset(many, idOf(denied))).toMatchObject({ status: 200 });
      expect(await statuses(3, () => visit(two, 'POST /pin', visitor))).toEqual([200, 200, 429]);
    });

    test('also resets the local counts that gateways use while Redis is down', async () => {
      const [forgiven, kept] = [{ address: newAddress() }, { address: newAddress() }];
      for (const visitor of [forgiven, kept]) {
        const codes = await statuses(LOCAL_LIMIT, () => visit(two, 'POST /local', visitor));
        expect(new Set(codes)).toEqual(new Set([200]));
      }
      expect(await reset(one, forgiven.address)).toMatchObject({ status: 200 });
      // Redis answers this after it has told the other gateways of the reset.
      await admin.ping();
      await using away = freeze();
      expect(await visit(two, 'POST /local', kept)).toMatchObject({ status: 429 });
      const answer = await visit(two, 'POST /local', forgiven);
      expect(answer).toMatchObject({ status: 200, headers: { 'x-ratelimit-mode': 'local' } });
      await away.disposeAsync();
    });
  });

  describe('a policy in another mode', () => {
    const strictest = async (gateway: Gateway, name: string) => {
      const { headers } = await call(gateway.url, '/nginx', {
        headers: { 'x-original-method': 'POST', 'x-real-ip': newAddress() },
      });
      return String(headers['ratelimit-policy']).includes(`"${name}"`);
    };

    test.each(['shadow', 'off'])('%s is no longer the strictest policy', async (mode) => {
      await everywhere((gateway) => strictest(gateway, 'pin'));
      {
        await using _pin = await inMode('pin', mode);
        await everywhere((gateway) => strictest(gateway, 'tokens'));
        await using _tokens = await inMode('tokens', mode);
        await everywhere((gateway) => strictest(gateway, 'login'));
      }
      await everywhere((gateway) => strictest(gateway, 'pin'));
    });

    /** In all gateways, until the disposal. */
    async function inMode(policy: string, mode: string): Promise<AsyncDisposableStack> {
      await holds(() => setMode(one, policy, mode), isIn(policy, mode));
      const decided = new AsyncDisposableStack();
      decided.defer(async () => {
        const restored = () => operate(many, `DELETE /v1/policies/${policy}/mode`);
        await holds(restored, isIn(policy, 'enforce'));
      });
      return decided;
    }

    test('in shadow denies no request, and its denials are reported', async () => {
      const visitor = { address: newAddress() };
      const denials = 'headgate_decisions_total{policy="pin",verdict="shadow_deny"}';
      const before = await metric(two, denials);
      await using _ = await inMode('pin', 'shadow');
      expect(await statuses(6, () => visit(two, 'POST /pin', visitor))).toEqual(Array(6).fill(200));
      await eventually(
        () => metric(two, denials),
        (now) => now - before === 4,
      );
      await two.printed(/"event":"would_be_denied".*"policy":"pin"/);
      const { answer } = await operate<Top>(many, 'GET /v1/clients/top?shadow=true');
      expect(answer.clients).toContainEqual(
        expect.objectContaining({ policy: 'pin', reason: 'over_limit', denials: 4 }),
      );
      const open = await operate<Top>(many, 'GET /v1/clients/top');
      const [{ client } = { client: '' }] = answer.clients;
      expect(open.answer.clients.map((each) => each.client)).not.toContain(client);
    });

    test('in shadow does not count requests that other policies deny', async () => {
      const visitor = { address: newAddress() };
      await using mode = await inMode('login', 'shadow');
      // Some servers read it as /pin, so that the policy pin applies too, and allows two.
      const codes = await statuses(8, () => visit(one, 'POST /pin;/../api/auth/login', visitor));
      expect(codes).toEqual([200, 200, ...Array(6).fill(429)]);
      await mode.disposeAsync();
      expect(await statuses(2, () => visit(one, 'POST /api/auth/login', visitor))).toEqual([
        200, 429,
      ]);
    });
  });

  test('explain counts nothing, and shows the answer to the next request', async () => {
    const visitor = { address: newAddress() };
    await visit(one, '/api/search', visitor);
    const asked = { url: '/api/search', client: visitor.address };
    for (let i = 0; i < 50; i++) {
      const { status, answer } = await operate<{ answer: { status: number; headers: string[] } }>(
        all[i % 3] as Gateway,
        'POST /v1/explain',
        asked,
      );
      expect({ status, of: answer.answer.status }).toEqual({ status: 200, of: 200 });
      const { headers } = answer.answer;
      const place = headers.findIndex((name) => /^x-ratelimit-remaining$/i.test(name));
      expect(headers[place + 1]).toBe('98');
    }
    expect(remainingOf(await visit(two, '/api/search', visitor))).toBe(98);
  });

  test.each([
    ['denied', 429],
    ['blocked', 403],
    ['exempt', 200],
  ])('explain of a client that is %s shows status %i', async (kind, expected) => {
    const visitor = { address: newAddress() };
    await useUp(one, 'POST /pin', visitor);
    if (kind !== 'denied')
      await override(one, kind === 'blocked' ? 'block' : 'exempt', visitor.address);
    await everywhere(answers(expected, visitor, 'POST /pin'));
    for (const gateway of all) {
      const asked = { method: 'POST', url: '/pin', client: visitor.address };
      const { answer } = await operate(gateway, 'POST /v1/explain', asked);
      expect(answer.answer).toMatchObject({ status: expected });
    }
  });

  test('the list of denied clients sums the denials of all gateways and workers', async () => {
    const visitor = { address: newAddress() };
    await useUp(one, 'POST /pin', visitor);
    await statuses(3, () => visit(two, 'POST /pin', visitor));
    const [last] = [
      await visit(many, 'POST /pin', visitor),
      await visit(many, 'POST /pin', visitor),
    ];
    const { answer: decision } = await operate(
      one,
      `GET /v1/decisions/${idOf(last as HttpAnswer)}`,
    );
    await everywhere(async (gateway) => {
      const { answer } = await operate<Top>(gateway, 'GET /v1/clients/top?limit=100');
      const { asked, answered } = answer.gateways;
      const found = answer.clients.filter(
        ({ client, policy }) => client === decision.client && policy === 'pin',
      );
      const counts = found.map(({ denials }) => denials).join();
      return counts === '6' && asked === 2 + WORKERS && answered === asked;
    });
  });

  test('every gateway finds the decisions of all gateways', async () => {
    for (const from of all) {
      const id = idOf(await useUp(from, 'POST /pin', { address: newAddress() }));
      for (const gateway of all) {
        const { status, answer } = await operate(gateway, `GET /v1/decisions/${id}`);
        expect(status).toBe(200);
        expect(answer).toMatchObject({ asked_for: id, policy: 'pin', now: { remaining: 0 } });
      }
    }
    expect(await operate(one, 'GET /v1/decisions/0123456789ab-1')).toMatchObject({ status: 404 });
  });

  /** Adds fields to the stored overrides, until the disposal. */
  async function withStored(fields: Readonly<Record<string, string>>): Promise<AsyncDisposable> {
    await admin.hset('hg:v1:notices', fields);
    await admin.publish('hg:v1:notices', '');
    return {
      [Symbol.asyncDispose]: async () => {
        // Marks them as removed: gateways restore a field that is missing.
        const until = `${Date.now() + 60_000} `;
        const down = Object.keys(fields).map((about) => [about, until] as const);
        await admin.hset('hg:v1:notices', Object.fromEntries(down));
        await admin.publish('hg:v1:notices', '');
      },
    };
  }

  test('a thousand overrides are the maximum, and existing ones can be changed', async () => {
    const visitor = { address: newAddress() };
    await override(one, 'block', visitor.address);
    const { answer: pattern } = await operate<Overrides>(one, 'GET /v1/overrides');
    const untilMs = Date.now() + 600_000;
    const terms = { sinceMs: Date.now(), untilMs, reason: 'many', by: 'test', isLong: false };
    const others = Array.from({ length: 1_000 - pattern.overrides.length }, (_, i) => {
      const client = `u.${String(i).padStart(22, '0')}`;
      const text = JSON.stringify({ about: 'client', client, access: 'blocked', ...terms });
      return [`client:${client}`, `${untilMs} ${text}`] as const;
    });
    await using _ = await withStored(Object.fromEntries(others));
    await everywhere(async (gateway) => (await overridesOf(gateway)).length === 1_000);
    const { status, answer } = await override(two, 'block', newAddress());
    expect({ status, answer }).toEqual({
      status: 409,
      answer: { error: 'conflict', message: expect.stringMatching(/1000.*lift some.*policy file/) },
    });
    await holds(() => override(two, 'exempt', visitor.address), isUncounted(visitor));
    await holds(() => lift(two, 'unexempt', visitor.address), isAdmitted(visitor));
    await holds(() => override(many, 'block', visitor.address), isBlocked(visitor));
  });

  test('an override store that was emptied gets every override back, except removed ones', async () => {
    const [kept, lifted] = [{ address: newAddress() }, { address: newAddress() }];
    for (const visitor of [kept, lifted]) {
      await holds(() => override(one, 'block', visitor.address), isBlocked(visitor));
    }
    await holds(() => lift(two, 'unblock', lifted.address), isAdmitted(lifted));
    await admin.flushall();
    await admin.publish('hg:v1:notices', '');
    await Promise.race(all.map((gateway) => gateway.printed(/"event":"overrides_restored"/)));
    await everywhere(isBlocked(kept));
    await everywhere(isAdmitted(lifted));
  });

  test('junk in the override store and on the channels removes no override and stops no gateway', async () => {
    const visitor = { address: newAddress() };
    await override(one, 'block', visitor.address);
    const untilMs = Date.now() + 600_000;
    const ofClient = { about: 'client', client: 'u.x', access: 'blocked', isLong: false };
    const junk = [
      ...[
        '',
        ' ',
        'x',
        '{}',
        'null',
        `${untilMs}`,
        `${untilMs} `,
        `${untilMs} {`,
        `${untilMs} null`,
      ],
      ...[
        `${untilMs} []`,
        `${untilMs} {"about":"nobody"}`,
        `-1 {}`,
        `${untilMs} ${'['.repeat(10_000)}`,
      ],
      `${untilMs} ${JSON.stringify(ofClient)}`,
      `${untilMs} ${JSON.stringify({ ...ofClient, sinceMs: 'x', untilMs: null })}`,
      `NaN ${JSON.stringify({ ...ofClient, ...TERMS, sinceMs: 1.5, untilMs })}`,
    ];
    const fields = [...junk.keys()].map(
      (i) => ['', '__proto__', 'client:', 'log'][i] ?? `junk-${i}`,
    );
    await using _ = await withStored(
      Object.fromEntries(fields.map((name, i) => [name, junk[i] ?? ''])),
    );
    const said = [
      ...['', 'null', '{}', '[]', '5', '"x"', '{"question":null}', '{"id":1,"question":{}}'],
      ...['{"id":"a","replyTo":null,"question":{"about":"top"}}', '{"answer":null}', '\0\x80'],
      '{"id":"a","replyTo":"hg:v1:nowhere","question":{"about":"decision","id":7}}',
      '{"id":"a","replyTo":"hg:v1:nowhere","question":{"about":"top","most":"x","withinMs":null}}',
      '[null, 7, "hg:v1:{x}", {"a":[]}]',
      '["'.repeat(5_000),
      'x'.repeat(1_000_000),
    ];
    for (const channel of ['hg:v1:questions', 'hg:v1:notices', 'hg:v1:reset']) {
      for (const message of said) await admin.publish(channel, message);
    }
    const other = { address: newAddress() };
    await holds(() => override(two, 'block', other.address), isBlocked(other));
    await everywhere(isBlocked(visitor));
    for (const gateway of all) {
      const clients = (await overridesOf(gateway)).map(({ client }) => client);
      expect(clients).not.toContain('u.x');
      const { answer } = await operate<Top>(gateway, 'GET /v1/clients/top');
      expect(answer.gateways).toEqual({ asked: 2 + WORKERS, answered: 2 + WORKERS });
      expect(gateway.output()).not.toMatch(/"event":"(crashed|worker_lost|operation_failed)"/);
    }
  });

  test.each([
    ['later than any date', (ms: number) => [ms, Number.MAX_SAFE_INTEGER] as const],
    ['since before any date', (ms: number) => [-Number.MAX_SAFE_INTEGER, ms] as const],
  ])(
    'an override in the store that ends or began %s does not disturb the others',
    async (_what, timesAt) => {
      const [sinceMs, untilMs] = timesAt(Date.now() + 600_000);
      const text = { about: 'client', client: 'u.odd', access: 'blocked', isLong: false };
      const terms = { sinceMs, untilMs, reason: 'x', by: 'x' };
      const visitor = { address: newAddress() };
      await override(one, 'block', visitor.address);
      await using _ = await withStored({
        odd: `${untilMs} ${JSON.stringify({ ...text, ...terms })}`,
      });
      // Gateways read all overrides at once, so they have read the odd one when this one is in force.
      const other = { address: newAddress() };
      await holds(() => override(one, 'block', other.address), isBlocked(other));
      for (const gateway of all)
        expect(await operate(gateway, 'GET /v1/overrides')).toMatchObject({ status: 200 });
    },
  );

  test('an expiry time that Redis cannot read as a number does not prevent changes', async () => {
    await using _ = await withStored({ odd: `${'9'.repeat(30)} x` });
    const visitor = { address: newAddress() };
    await holds(() => override(one, 'block', visitor.address), isBlocked(visitor));
  });

  describe('gateways catch up', () => {
    test('if their subscriptions were cut', async () => {
      for (let round = 0; round < 3; round++) {
        const visitor = { address: newAddress() };
        await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
        await holds(() => override(one, 'block', visitor.address), isBlocked(visitor));
      }
    });

    test('if all of their connections were cut', async () => {
      for (let round = 0; round < 3; round++) {
        const visitor = { address: newAddress() };
        await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
        await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
        const decided = () => override(two, 'block', visitor.address);
        await holds(
          () => eventually(decided, ({ status }) => status === 200, WITHIN_MS),
          isBlocked(visitor),
        );
      }
    });

    test('if one of them was frozen', async () => {
      const visitor = { address: newAddress() };
      two.signal('SIGSTOP');
      expect(await override(one, 'block', visitor.address)).toMatchObject({ status: 200 });
      two.signal('SIGCONT');
      await everywhere(isBlocked(visitor));
    });
  });

  /** Freezes Redis until the disposal, which waits until all gateways count again. */
  function freeze(): AsyncDisposableStack {
    redis.signal('SIGSTOP');
    const frozen = new AsyncDisposableStack();
    // Redis has then also processed what was sent while it was frozen.
    frozen.defer(() => everywhere(isCounted));
    frozen.defer(() => redis.signal('SIGCONT'));
    return frozen;
  }

  describe('while Redis is frozen', () => {
    /** Once the connection is given up, nothing is sent any more. */
    const MAY_BE_MADE =
      /^Redis does not answer .*: (the change may or may not have been made|nothing was changed)/;
    /** An unblock reads the overrides first. */
    const UNSURE: Readonly<Record<string, RegExp>> = {
      unblock: /^Redis does not answer .*: nothing was changed$/,
    };
    const CHANGES: Readonly<Record<string, (address: string) => Promise<OpsAnswer<unknown>>>> = {
      block: (address) => override(one, 'block', address),
      exempt: (address) => override(many, 'exempt', address),
      mode: () => setMode(two, 'search', 'off'),
      log: () => operate(two, 'PUT /v1/log', { ...TERMS, level: 'debug' }),
      reset: (address) => reset(one, address),
      unblock: (address) => lift(one, 'unblock', address),
      restoreMode: () => operate(two, 'DELETE /v1/policies/pin/mode'),
      restoreLog: () => operate(many, 'DELETE /v1/log'),
    };

    async function expectRefused(name: string): Promise<void> {
      const { status, answer } = (await CHANGES[name]?.(newAddress())) ?? {};
      expect({ name, status, answer }).toEqual({
        name,
        status: 503,
        answer: {
          error: 'store_unavailable',
          message: expect.stringMatching(UNSURE[name] ?? MAY_BE_MADE),
        },
      });
    }

    test('overrides stay in force and changes are refused; afterwards changes succeed', async () => {
      const visitor = { address: newAddress() };
      await holds(() => override(one, 'block', visitor.address), isBlocked(visitor));
      await holds(
        () => setMode(one, 'pin', 'off'),
        answers(200, { address: newAddress() }, 'POST /pin'),
      );
      await using lab = new AsyncDisposableStack();
      lab.defer(async () => {
        for (const name of ['pin', 'search'])
          await operate(one, `DELETE /v1/policies/${name}/mode`);
      });
      const away = lab.use(freeze());
      // In the first round, the gateways do not know yet that Redis does not answer.
      for (let round = 0; round < 2; round++) {
        await Promise.all(Object.keys(CHANGES).map(expectRefused));
        await everywhere(isBlocked(visitor));
        for (const gateway of all) {
          expect(await isIn('pin', 'off')(gateway)).toBe(true);
        }
      }
      await away.disposeAsync();
      const next = { address: newAddress() };
      await holds(() => override(two, 'block', next.address), isBlocked(next));
    });

    test('reading calls are answered from memory or refused', async () => {
      const visitor = { address: newAddress() };
      const id = idOf(await useUp(one, 'POST /pin', visitor));
      await using _ = freeze();
      const explained = { url: '/a', client: visitor.address };
      const calls: readonly (readonly [Promise<{ readonly status: number }>, readonly number[]])[] =
        [
          [operate(one, 'GET /v1/overrides'), [200]],
          [operate(many, 'GET /v1/policies'), [200]],
          [operate(one, 'GET /v1/clients/top'), [200]],
          [operate(one, `GET /v1/decisions/${id}`), [200]],
          [operate(two, `GET /v1/decisions/${id}`), [404]],
          [operate(two, 'GET /stats'), [200]],
          [operate(many, 'GET /stats'), [200]],
          [operate(one, 'POST /v1/clients/inspect', { client: visitor.address }), [200]],
          [operate(two, 'POST /v1/explain', explained), [200, 503]],
          [call(one.opsUrl, '/metrics'), [200]],
        ];
      for (const [answer, wanted] of calls) expect(wanted).toContain((await answer).status);
    });

    test('changes that Redis did not confirm are logged, and can be made again', async () => {
      const [decided, counted] = [{ address: newAddress() }, { address: newAddress() }];
      await useUp(one, 'POST /pin', counted);
      const before = logged(one, 'operator_action').length;
      await using away = freeze();
      expect(await override(one, 'block', decided.address)).toMatchObject({ status: 503 });
      expect(await reset(one, counted.address)).toMatchObject({ status: 503 });
      await away.disposeAsync();
      const unconfirmed = expect.stringMatching(/(not confirmed|refused) by Redis/);
      await eventually(
        async () => logged(one, 'operator_action').length,
        (now) => now === before + 2,
      );
      expect(logged(one, 'operator_action').slice(before)).toMatchObject([
        { action: 'block', change: unconfirmed, reason: TERMS.reason, by: TERMS.by },
        { action: 'reset', change: unconfirmed },
      ]);
      await holds(() => override(one, 'block', decided.address), isBlocked(decided));
      expect(await reset(two, counted.address)).toMatchObject({ status: 200 });
      expect(remainingOf(await visit(one, 'POST /pin', counted))).toBe(1);
      await holds(() => lift(two, 'unblock', decided.address), isAdmitted(decided));
    });
  });

  test('after a restart of Redis, old and new overrides apply', async () => {
    const [before, after] = [{ address: newAddress() }, { address: newAddress() }];
    await holds(() => override(one, 'block', before.address), isBlocked(before));
    await redis.stop();
    await everywhere(isBlocked(before));
    expect(await override(one, 'block', after.address)).toMatchObject({ status: 503 });
    await redis.startAgain();
    const decided = () => override(two, 'block', after.address);
    await eventually(decided, ({ status }) => status === 200, WITHIN_MS);
    await everywhere(isBlocked(after));
    await everywhere(isBlocked(before));
  });
});

testWithRedis('overrides are still in force after all gateways were restarted', async () => {
  await using lab = new AsyncDisposableStack();
  await using server = await startRedis();
  await addShippedAccount(server);
  const file = policyFile(lab);
  const env = { ...PATIENT, HEADGATE_REDIS_URL: byShippedAccount(server.url) };
  const [blocked, exempt] = [{ address: newAddress() }, { address: newAddress() }];
  {
    await using gateway = await startOperated(file, env);
    await everywhere(isCounted, [gateway]);
    await done(override(gateway, 'block', blocked.address));
    await done(override(gateway, 'exempt', exempt.address, { for: '31d' }));
    await done(setMode(gateway, 'login', 'off'));
    await done(operate(gateway, 'PUT /v1/log', { ...TERMS, allows_one_in: 1 }));
  }
  await using gateway = await startOperated(file, env);
  // If the machine is busy, a start does not wait for Redis. Otherwise the overrides apply from the first request on.
  await everywhere(isBlocked(blocked), [gateway]);
  expect(await isUncounted(exempt)(gateway)).toBe(true);
  const { headers } = await visit(gateway, 'POST /api/auth/login', { address: newAddress() });
  expect(headers['x-ratelimit-limit']).toBeUndefined();
  await gateway.printed(/"event":"allowed"/);
  expect((await overridesOf(gateway)).map(({ about }) => about).sort()).toEqual([
    ...['client', 'client', 'log_allows', 'policy'],
  ]);
});

testWithRedis(
  'an override store of another Redis type is reported, and changes are refused',
  async () => {
    await using lab = new AsyncDisposableStack();
    await using server = await startRedis();
    const client = lab.adopt(connectTo(server), (open) => open.disconnect());
    await client.set('hg:v1:notices', 'junk');
    await using gateway = await startOperated(policyFile(lab), { HEADGATE_REDIS_URL: server.url });
    await gateway.printed(/"event":"overrides_unread"/);
    expect(await override(gateway, 'block', '203.0.113.9')).toMatchObject({ status: 503 });
    expect(await visit(gateway, '/a')).toMatchObject({ status: 200 });
    await client.del('hg:v1:notices');
    await done(override(gateway, 'block', '203.0.113.9'));
  },
);

describe.skipIf(!ownRedisIsHere)('on a Redis Cluster', () => {
  test('clients are blocked, unblocked, reset and listed, and the numbers of windows are reported', async () => {
    await using lab = new AsyncDisposableStack();
    await using cluster = await startRedisCluster();
    const env = { HEADGATE_REDIS_URL: cluster.url };
    const file = policyFile(lab);
    await using first = await startOperated(file, env);
    await using second = await startOperated(file, env);
    const gateways = [first, second];
    // The gateway that started first learns of the other by a heartbeat.
    await eventually(
      () => Promise.all(gateways.map((gateway) => operate(gateway, 'GET /stats'))),
      (told) => told.every(({ answer }) => answer.gateways === 2),
    );
    const visitor = { address: newAddress() };
    expect(await override(first, 'block', visitor.address)).toMatchObject({ status: 200 });
    await everywhere(isBlocked(visitor), gateways);
    expect(await lift(second, 'unblock', visitor.address)).toMatchObject({ status: 200 });
    await everywhere(isAdmitted(visitor), gateways);
    for (let i = 0; i < 5; i++) {
      const each = { address: newAddress() };
      // Both may be denied in the same millisecond, so either can be the last denial.
      const ids = [
        idOf(await useUp(first, 'POST /pin', each)),
        idOf(await visit(second, 'POST /pin', each)),
      ];
      const found = await eventually(
        async () => {
          const { answer } = await operate<Top>(first, 'GET /v1/clients/top?limit=100');
          const { clients, gateways: counted } = answer;
          return { ...clients.find(({ decision_id }) => ids.includes(decision_id)), counted };
        },
        ({ denials, counted }) => denials === 2 && counted.answered === 2,
      );
      expect(found).toMatchObject({ policy: 'pin', counted: { asked: 2 } });
      expect(await reset(second, each.address)).toMatchObject({ status: 200 });
      expect(await visit(second, 'POST /pin', each)).toMatchObject({ status: 200 });
      await everywhere(
        async (gateway) => (await visit(gateway, '/a', each)).status === 200,
        gateways,
      );
    }
    const { status, answer } = await operate<{ servers: unknown[]; active_windows: number }>(
      second,
      'GET /stats',
    );
    expect(status).toBe(200);
    expect(answer).toMatchObject({ store: 'redis', gateways: 2, is_exact: true });
    expect(answer.servers).toHaveLength(3);
    expect(answer.active_windows).toBeGreaterThanOrEqual(5);
  });
});

test('without Redis, overrides apply to the one process, and end with it', async () => {
  await using lab = new AsyncDisposableStack();
  const file = policyFile(lab);
  const visitor = { address: newAddress() };
  {
    await using gateway = await startOperated(file);
    const denied = await useUp(gateway, 'POST /pin', visitor);
    const { answer } = await operate<Top>(gateway, 'GET /v1/clients/top');
    expect(answer).toMatchObject({
      clients: [{ policy: 'pin', denials: 1, decision_id: idOf(denied) }],
      gateways: { asked: 1, answered: 1 },
    });
    expect(await operate(gateway, `GET /v1/decisions/${idOf(denied)}`)).toMatchObject({
      status: 200,
    });
    expect(await reset(gateway, idOf(denied))).toMatchObject({ status: 200 });
    expect(remainingOf(await visit(gateway, 'POST /pin', visitor))).toBe(1);
    expect(await operate(gateway, 'GET /stats')).toMatchObject({
      answer: { store: 'memory', gateways: 1, servers: [] },
    });
    await setMode(gateway, 'pin', 'off');
    expect(await statuses(4, () => visit(gateway, 'POST /pin', visitor))).toEqual(
      Array(4).fill(200),
    );
    await override(gateway, 'block', visitor.address, { for: '1s' });
    expect(await visit(gateway, '/a', visitor)).toMatchObject({ status: 403 });
    await eventually(
      () => visit(gateway, '/a', visitor),
      ({ status }) => status === 200,
    );
    await override(gateway, 'block', visitor.address);
  }
  await using gateway = await startOperated(file);
  expect(await overridesOf(gateway)).toEqual([]);
  expect(await visit(gateway, '/a', visitor)).toMatchObject({ status: 200 });
});

testWithOwnRedis('a frozen worker does not prevent operations', async () => {
  await using server = await startRedis();
  await using lab = new AsyncDisposableStack();
  const env = { HEADGATE_REDIS_URL: server.url, HEADGATE_WORKERS: '2' };
  await using gateway = await startOperatedProcess(policyFile(lab), env);
  const children = readFileSync(`/proc/${gateway.pid}/task/${gateway.pid}/children`, 'utf8');
  const [hung = 0] = children.trim().split(' ').map(Number);
  process.kill(hung, 'SIGSTOP');
  try {
    expect(await override(gateway, 'block', newAddress())).toMatchObject({ status: 200 });
    expect(await operate(gateway, 'GET /v1/clients/top')).toMatchObject({ status: 200 });
  } finally {
    process.kill(hung, 'SIGCONT');
  }
});
