import { describe, expect, test } from 'vitest';
import { createCheck, UNOBSERVED } from '../../../../src/gateway/core/check.ts';
import { type QuotaStore, StoreError } from '../../../../src/gateway/core/counting/store.ts';
import { NO_OVERRIDES } from '../../../../src/gateway/core/overrides.ts';
import { localShare } from '../../../../src/gateway/stores/local-share.ts';
import { MemoryStore } from '../../../../src/gateway/stores/memory/memory-store.ts';
import { DerivedSalts, SaltBooks } from '../../../../src/gateway/stores/salts/salt-sources.ts';
import { BLANKS, withBlanks } from '../../../support/blanks.ts';
import { checkOn } from '../../../support/check-on.ts';
import { policySetFrom } from '../../../support/policies.ts';
import { checkRequest, NOON_MS, SALTS } from '../../../support/requests.ts';

/** For one gateway, whose share is the whole limit. */
const aloneWith = (memory: MemoryStore) => localShare(memory, () => ({ count: 1, rank: 0 }));

function checkWith(yaml: string, store?: QuotaStore) {
  const memory = () => new MemoryStore({ now: () => NOON_MS, maxKeys: 1_000 });
  const policies = policySetFrom(yaml);
  let untrusted = 0;
  let unmatched = 0;
  const ignored: string[] = [];
  const check = createCheck({
    store: store ?? memory(),
    local: aloneWith(memory()),
    salts: { at: () => SALTS },
    overrides: { current: NO_OVERRIDES },
    newId: () => 'an-id',
    observer: {
      ...UNOBSERVED,
      untrustedProxy: () => untrusted++,
      unmatched: () => unmatched++,
      headersIgnored: (names) => ignored.push(...names),
    },
  });
  return {
    send: (parts: Parameters<typeof checkRequest>[0] = {}) =>
      check(checkRequest(parts), policies, NOON_MS),
    untrusted: () => untrusted,
    unmatched: () => unmatched,
    ignored,
  };
}

const failing: QuotaStore = {
  take: () => Promise.reject(new StoreError('timeout', 'too late')),
  reset: () => Promise.reject(new StoreError('timeout', 'too late')),
};

test.each(['deny', 'local'])('a denial without the store has an id: %s', async (mode) => {
  const text = `{ version: 1, default: { limits: [1/1min], on_store_failure: ${mode} } }`;
  const { send } = checkWith(text, failing);
  await send();
  expect(await send()).toMatchObject({
    verdict: 'deny',
    mode: mode === 'deny' ? 'closed' : 'local',
    denial: { id: expect.any(String), client: expect.any(String) },
  });
});

test('allows requests up to the limit, then denies', async () => {
  const { send } = checkWith('{ version: 1, default: { limits: [2/1min] } }');
  const verdicts = [(await send()).verdict, (await send()).verdict, (await send()).verdict];
  expect(verdicts).toEqual(['allow', 'allow', 'deny']);
});

test('a request that one limit denies takes from no limit', async () => {
  const { send } = checkWith(`
version: 1
default: { limits: [10/1min] }
policies: [{ name: all, always: true, limits: [{ rate: 1/1min, per: global }] }]`);
  await send({ client: '203.0.113.1' });
  await send({ client: '203.0.113.2' });
  const third = await send({ client: '203.0.113.2' });
  expect(third.binding?.limit.label).toBe('all');
  expect(third.verdict).toBe('deny');
});

test('a thousand invented keys from one address share twice the limit', async () => {
  const { send } = checkWith('{ version: 1, default: { limits: [5/1min] } }');
  let allowed = 0;
  for (let i = 0; i < 1_000; i++) {
    const { verdict } = await send({
      headers: { 'x-api-key': `invented-${i}` },
      client: '203.0.113.1',
    });
    if (verdict === 'allow') allowed++;
  }
  expect(allowed).toBe(10);
});

test('requests without a key share that limit with invented keys of the same address', async () => {
  const { send } = checkWith('{ version: 1, default: { limits: [5/1min] } }');
  for (let i = 0; i < 20; i++) await send({ headers: { 'x-api-key': `invented-${i}` } });
  expect((await send()).verdict).toBe('deny');
});

test('a proxy that is not trusted is reported', async () => {
  const { send, untrusted } = checkWith('{ version: 1, default: { limits: [2/1min] } }');
  await send({ proxy: '203.0.113.1' });
  await send();
  expect(untrusted()).toBe(1);
});

test('a window that spans midnight holds, although all pseudonyms change at midnight', async () => {
  const midnight = Date.UTC(2026, 10, 22);
  const clock = { nowMs: midnight - 60_000 };
  const store = new MemoryStore({ now: () => clock.nowMs, maxKeys: 1_000 });
  const check = createCheck({
    store,
    local: aloneWith(store),
    salts: new SaltBooks(),
    overrides: { current: NO_OVERRIDES },
    newId: () => 'an-id',
    observer: UNOBSERVED,
  });
  const policies = policySetFrom('{ version: 1, default: { limits: [5/5min] } }');
  const admitted: number[] = [];
  for (; clock.nowMs < midnight + 900_000; clock.nowMs += 10_000) {
    const { verdict } = await check(checkRequest(), policies, clock.nowMs);
    if (verdict === 'allow') admitted.push(clock.nowMs - midnight);
  }
  // Five at once, and five more whenever those expire: before midnight, after it, and once the old log is unused.
  const first = [-60_000, -50_000, -40_000, -30_000, -20_000];
  const rounds = [0, 300_000, 600_000, 900_000].map((later) => first.map((stamp) => stamp + later));
  expect(admitted).toEqual(rounds.flat().filter((stamp) => stamp < 900_000));
});

describe('no window holds more than its limit while salts change', () => {
  const DAY_MS = 86_400_000;
  const midnight = Date.UTC(2026, 10, 22);
  const SALT_SOURCES = [
    ['random', () => new SaltBooks()],
    ['derived', () => new DerivedSalts('0123456789abcdef0123456789abcdef')],
  ] as const;
  const WINDOWS = [
    // Twenty midnights, each inside a window with steady requests.
    { limit: 5, window: '5min', windowMs: 300_000, spreadMs: 600_000, stepMs: 20_000 },
    { limit: 20, window: '1d', windowMs: DAY_MS, spreadMs: DAY_MS, stepMs: 1_800_000 },
    // Twenty midnights inside one window, and a change of the salts for long windows.
    { limit: 50, window: '21d', windowMs: 21 * DAY_MS, spreadMs: DAY_MS, stepMs: 3_600_000 },
  ];
  for (const [name, createSalts] of SALT_SOURCES) {
    test.each(WINDOWS)(`${name}: $limit/$window over 20 midnights`, async (each) => {
      const { limit, window, windowMs, spreadMs, stepMs } = each;
      const clock = { nowMs: 0 };
      const store = new MemoryStore({ now: () => clock.nowMs, maxKeys: 1_000 });
      const salts = createSalts();
      const check = createCheck({
        store,
        local: aloneWith(store),
        salts,
        overrides: { current: NO_OVERRIDES },
        newId: () => 'an-id',
        observer: UNOBSERVED,
      });
      const policies = policySetFrom(`{ version: 1, default: { limits: [${limit}/${window}] } }`);
      const admitted: number[] = [];
      for (let day = 0; day < 60; day++) {
        const aroundMs = midnight + day * DAY_MS;
        for (
          clock.nowMs = aroundMs - spreadMs / 2;
          clock.nowMs < aroundMs + spreadMs / 2;
          clock.nowMs += stepMs
        ) {
          await salts.refresh(clock.nowMs);
          const { verdict } = await check(checkRequest(), policies, clock.nowMs);
          if (verdict === 'allow') admitted.push(clock.nowMs);
        }
      }
      const fullest = admitted.map(
        (startMs, i) => admitted.slice(i).filter((atMs) => atMs < startMs + windowMs).length,
      );
      expect(Math.max(...fullest)).toBe(limit);
    });
  }
});

describe('an address whose names change is limited as one that keeps its name', () => {
  const HOUR_MS = 3_600_000;
  const DAY_MS = 24 * HOUR_MS;
  /** The start of a period of 31 days, and so a midnight too. */
  const boundaryMs = Math.ceil(Date.UTC(2026, 10, 22) / (31 * DAY_MS)) * 31 * DAY_MS;
  const bucket = (rate: string, burst: number) =>
    `rate: ${rate}, algorithm: token-bucket, burst: ${burst}`;

  /** When the requests of a client are admitted that sends one at each moment. */
  async function admitted(limit: string, atMs: readonly number[]) {
    const clock = { nowMs: 0 };
    const store = new MemoryStore({ now: () => clock.nowMs, maxKeys: 1_000 });
    const salts = new SaltBooks();
    const check = checkOn(store, salts);
    const policies = policySetFrom(`{ version: 1, default: { limits: [${limit}] } }`);
    const found: number[] = [];
    for (const nowMs of atMs) {
      clock.nowMs = nowMs;
      await salts.refresh(nowMs);
      if ((await check(checkRequest(), policies, nowMs)).verdict === 'allow') found.push(nowMs);
    }
    return found;
  }

  test.each([
    // What a day would give back is less than a burst, so a new name would be worth a burst.
    [bucket('1/1h', 24), 2, 10 * 60_000],
    [bucket('10/1min', 200), 1, 2_000],
    [bucket('7/1h', 9), 3, 5 * 60_000],
    // These take longer than a day to fill, so their names change every 31 days.
    [bucket('1/1d', 20), 40, 6 * HOUR_MS],
    [bucket('5/7d', 20), 40, 6 * HOUR_MS],
    ['rate: 9/1h', 2, 5 * 60_000],
    ['rate: 9/5h, algorithm: sliding-window-counter', 3, 10 * 60_000],
    ['rate: 9/1d, algorithm: sliding-window-counter', 4, HOUR_MS],
    ['rate: 9/7h, algorithm: fixed-window', 3, 10 * 60_000],
  ])('{ %s } for %i days', async (limit, days, everyMs) => {
    let nowMs = boundaryMs - Math.min(2 * DAY_MS, (days * DAY_MS) / 2);
    const endMs = nowMs + days * DAY_MS;
    const atMs: number[] = [];
    // A client that sends all the time, with a pause now and then.
    for (let i = 1; nowMs < endMs; i++) {
      atMs.push(nowMs);
      nowMs += (i % 50 === 0 ? 40 : 1) * everyMs + ((i * 7_919) % 1_000);
    }
    const found = await admitted(`{ ${limit} }`, atMs);
    expect(found).toEqual(await admitted(`{ ${limit}, per: global }`, atMs));
    expect(found.length).toBeLessThan(atMs.length);
  });

  test('a full bucket is worth its burst once, not once a day', async () => {
    const everyMinute = Array.from({ length: 4 * 24 * 60 }, (_, i) => boundaryMs + i * 60_000);
    const found = await admitted(`{ ${bucket('1/1h', 24)} }`, everyMinute);
    const ofDay = [0, 1, 2, 3].map(
      (day) => found.filter((ms) => Math.floor((ms - boundaryMs) / DAY_MS) === day).length,
    );
    expect(ofDay).toEqual([24 + 23, 24, 24, 24]);
  });
});

describe('a fixed window of an address admits exactly its limit, while salts change', () => {
  const HOUR_MS = 3_600_000;
  const fromMs = Date.UTC(2026, 8, 1);
  const toMs = Date.UTC(2027, 10, 1);
  /** The name of the window that contains a moment, by Intl and not by our calendar. */
  const localDate = (zone: string) => {
    const clock = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' });
    return (ms: number) => clock.format(ms);
  };
  const zurich = localDate('Europe/Zurich');
  const newYork = localDate('America/New_York');
  test.each<[string, number, (ms: number) => string | number]>([
    ['{ rate: 9/day, zone: Europe/Zurich }', 9, zurich],
    ['{ rate: 9/day, zone: America/New_York }', 9, newYork],
    ['9/day', 9, localDate('UTC')],
    ['{ rate: 50/month, zone: Europe/Zurich }', 50, (ms) => zurich(ms).slice(0, 7)],
    ['{ rate: 50/month, zone: America/New_York }', 50, (ms) => newYork(ms).slice(0, 7)],
    // Its first day is a Thursday, as that of the epoch was.
    ['{ rate: 40/7d, algorithm: fixed-window }', 40, (ms) => Math.floor(ms / (7 * 24 * HOUR_MS))],
    ['{ rate: 4/7h, algorithm: fixed-window }', 4, (ms) => Math.floor(ms / (7 * HOUR_MS))],
  ])('%s', async (limit, most, windowOf) => {
    const clock = { nowMs: fromMs };
    const store = new MemoryStore({ now: () => clock.nowMs, maxKeys: 1_000 });
    const salts = new SaltBooks();
    const check = createCheck({
      store,
      local: aloneWith(store),
      salts,
      overrides: { current: NO_OVERRIDES },
      newId: () => 'an-id',
      observer: UNOBSERVED,
    });
    const policies = policySetFrom(`{ version: 1, default: { limits: [${limit}] } }`);
    const admitted = new Map<string | number, number>();
    for (; clock.nowMs < toMs; clock.nowMs += HOUR_MS) {
      await salts.refresh(clock.nowMs);
      const { verdict } = await check(checkRequest(), policies, clock.nowMs);
      const window = windowOf(clock.nowMs);
      const count = admitted.get(window) ?? 0;
      admitted.set(window, count + (verdict === 'allow' ? 1 : 0));
    }
    const counts = [...admitted.values()];
    // The first and the last window may have been cut.
    expect(new Set(counts.slice(1, -1))).toEqual(new Set([most]));
    expect(Math.max(...counts)).toBe(most);
  });
});

describe('lists of clients', () => {
  const sha256 = '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae'; // foo
  const yaml = `
version: 1
identity: { api_key: { keys: [{ id: acme, sha256: ${sha256} }] } }
exempt: [{ key: acme }]
block: [203.0.113.0/24]
default: { limits: [1/1min] }`;
  test('a blocked client costs no store call', async () => {
    const { send } = checkWith(yaml, failing);
    const decision = await send({ client: '203.0.113.9' });
    expect(decision).toMatchObject({ verdict: 'deny', reason: 'blocked', mode: 'enforced' });
  });
  test('an exempt client costs no store call, but its path is checked', async () => {
    const { send } = checkWith(yaml, failing);
    const headers = { 'x-api-key': 'foo' };
    const decision = await send({ client: '203.0.113.9', headers });
    expect(decision).toMatchObject({ verdict: 'allow', reason: 'exempt', mode: 'enforced' });
    expect((await send({ headers, target: '/%00' })).reason).toBe('malformed_path');
  });
});

describe('a request is denied if a header that identifies the client can be read in several ways', () => {
  const yaml = `
version: 1
identity:
  sources: [api_key, user, ip]
  user: { header: x-user }
  verified_headers: [x-tenant]
exempt: [203.0.113.7]
default: { limits: [100/1min, { rate: 100/1min, per: "header:x-tenant" }] }`;
  const bearer = yaml.replace('identity:', 'identity:\n  api_key: { header: authorization }');

  test.each([
    [{ 'x-api-key': 'foo, foo' }],
    [{ 'x-api-key': 'foo,foo' }],
    [{ 'x-api-key': 'foo, ' }],
    [{ 'x-api-key': ', foo' }],
    [{ 'x-api-key': ',' }],
    [{ 'x-user': 'ada,bob' }],
    [{ 'x-api-key': 'foo', 'x-user': ',bob' }],
    [{ 'x-tenant': 'a,b' }],
  ])('%o', async (headers) => {
    const decision = await checkWith(yaml, failing).send({ headers });
    expect(decision).toMatchObject({ verdict: 'deny', reason: 'ambiguous_identity' });
  });
  test.each([
    '\xa0foo',
    'foo\xa0',
    '\xc2\xa0foo',
    'foo\xc2\xa0',
    'foo\x85',
    'foo\xe3\x80\x80',
    '\xef\xbb\xbffoo',
    'foo\tbar',
  ])('a key with blanks that some languages trim: %j', async (key) => {
    const decision = await checkWith(yaml, failing).send({ headers: { 'x-api-key': key } });
    expect(decision.reason).toBe('ambiguous_identity');
  });
  test.each(['caf\xc3\xa9', '\xc3\xa9toile', 'a b'])(
    'a key with other characters is accepted: %j',
    async (key) => {
      const decision = await checkWith(yaml).send({ headers: { 'x-api-key': key } });
      expect(decision.reason).toBe('within_limits');
    },
  );
  test.each([
    ...['Bearer foo, Bearer foo', 'Basic Zm9v,bearer foo', 'Bearer foo,', 'bearer foo, x'],
    ...[
      'Bearer\tfoo',
      'Bearer \tfoo',
      'Bearer foo x',
      'Bearer foo\tx',
      'Bearer foo\xa0',
      '\xa0Bearer foo',
    ],
    ...['!Bearer foo', 'Bearer!foo', 'Basic a, !bearer foo'],
    // Some applications search for the scheme, as Laravel does.
    ...['X Bearer foo', 'XBearer foo', '"Bearer foo"', 'a;bearer foo', 'Basic Bearer\tfoo'],
    // Rails reads `foo`.
    ...['Bearer "foo"', 'Bearer foo;x', 'Bearer token=foo', 'bearer Token="foo"'],
    ...['Bearer\xa0foo', 'Bearer: foo', 'Bearer=foo', 'Bearer', 'bearer\x85foo'],
  ])('Authorization: %j', async (authorization) => {
    const decision = await checkWith(bearer, failing).send({ headers: { authorization } });
    expect(decision.reason).toBe('ambiguous_identity');
  });
  test.each([' foo', 'Token foo ', '\xa0foo', 'foo\xc2\xa0', `foo${' '.repeat(8_300)}`])(
    'another Authorization scheme, or none, with blanks at an end: %j',
    async (authorization) => {
      const decision = await checkWith(bearer, failing).send({ headers: { authorization } });
      expect(decision.reason).toBe('ambiguous_identity');
    },
  );
  test.each(['Bearer foo', 'bearer  foo ', 'Bearer 1|foo.b-a_r~+/=='])(
    'a valid Bearer token is accepted: %j',
    async (authorization) => {
      const decision = await checkWith(bearer).send({ headers: { authorization } });
      expect(decision.reason).toBe('within_limits');
    },
  );
  test.each(['Digest username="a", realm="bearer"', 'AWS4-HMAC-SHA256 Credential=a, Signature=b'])(
    'schemes other than Bearer may have commas: %s',
    async (authorization) => {
      const decision = await checkWith(bearer).send({ headers: { authorization } });
      expect(decision.reason).toBe('within_limits');
    },
  );
  describe.each([
    ['an API key', yaml, 'x-api-key'],
    ['a user', yaml, 'x-user'],
    ['a verified header', yaml, 'x-tenant'],
    ['a header that a limit is per', yaml.replace('[x-tenant]', '[]'), 'x-tenant'],
    [
      'an address of a CDN',
      yaml.replace('ip]', '{ header: true-client-ip, from: [10.0.0.0/8] }, ip]'),
      'true-client-ip',
    ],
    [
      'an address that the proxy sets',
      yaml.replace('ip]', '{ header: x-client, from: proxy }, ip]'),
      'x-client',
    ],
  ])('%s', (_, policies, header) => {
    test.each(BLANKS)('with the blank %j at an end', async (blank) => {
      const { send } = checkWith(policies, failing);
      for (const value of withBlanks('192.0.2.7', blank)) {
        expect((await send({ headers: { [header]: value } })).reason).toBe('ambiguous_identity');
      }
    });
    test('with more characters than headgate reads', async () => {
      const headers = { [header]: '7'.repeat(8_193) };
      const decision = await checkWith(policies, failing).send({ headers });
      expect(decision.reason).toBe('ambiguous_identity');
    });
  });
  test.each(BLANKS)('a Bearer token with the blank %j at an end', async (blank) => {
    const { send } = checkWith(bearer, failing);
    // Blanks behind the token are no part of it.
    const around = blank === ' ' ? [' Bearer foo'] : withBlanks('Bearer foo', blank);
    for (const authorization of [...around, `Bearer${blank.replace(' ', '')}\xa0foo`]) {
      expect((await send({ headers: { authorization } })).reason).toBe('ambiguous_identity');
    }
  });
  test('a Bearer token with more characters than headgate reads', async () => {
    for (const authorization of [`Bearer ${'a'.repeat(8_192)}`, `Bearer foo${' '.repeat(8_300)}`]) {
      const decision = await checkWith(bearer, failing).send({ headers: { authorization } });
      expect(decision.reason).toBe('ambiguous_identity');
    }
  });
  test('a long value of another Authorization scheme is accepted', async () => {
    const headers = { authorization: `Negotiate ${'a'.repeat(20_000)}` };
    expect((await checkWith(bearer).send({ headers })).reason).toBe('within_limits');
  });
  test('addresses from a proxy that is not trusted are ignored, also with blanks', async () => {
    const cdn = yaml.replace('ip]', '{ header: true-client-ip, from: [10.0.0.0/8] }, ip]');
    const headers = { 'true-client-ip': ' 192.0.2.7' };
    const decision = await checkWith(cdn).send({ proxy: '198.51.100.1', headers });
    expect(decision.reason).toBe('within_limits');
  });
  test('users from a proxy that is not trusted are ignored, even several', async () => {
    const decision = await checkWith(yaml).send({
      proxy: '198.51.100.1',
      headers: { 'x-user': 'ada,bob', 'x-tenant': 'a,b' },
    });
    expect(decision.reason).toBe('within_limits');
  });
  test('an exempt client passes', async () => {
    const headers = { 'x-api-key': 'foo,foo' };
    const decision = await checkWith(yaml, failing).send({ client: '203.0.113.7', headers });
    expect(decision.reason).toBe('exempt');
  });
});

test('a host that servers read differently is refused', async () => {
  const { send } = checkWith('{ version: 1, default: { limits: [100/1min] } }');
  for (const host of ['admin.example.com:1:2', 'b,admin.example.com', 'admin.example.com::']) {
    expect(await send({ host })).toMatchObject({ verdict: 'deny', reason: 'malformed_host' });
  }
  expect((await send({ host: 'admin.example.com:8443' })).verdict).toBe('allow');
});

test('ignored headers are reported', async () => {
  const { send, ignored } = checkWith('{ version: 1, default: { limits: [2/1min] } }');
  await send({ headers: { 'cf-connecting-ip': '203.0.113.9' }, client: '198.51.100.1' });
  expect(ignored).toEqual(['cf-connecting-ip']);
});

describe('when the store fails', () => {
  const mode = (name: string) =>
    `{ version: 1, default: { limits: [1/1min], on_store_failure: ${name} } }`;

  test('allow lets the request through, without a quota in the decision', async () => {
    const decision = await checkWith(mode('allow'), failing).send();
    expect(decision).toMatchObject({ verdict: 'allow', mode: 'open', reason: 'store_failure' });
    expect(decision.binding).toBeUndefined();
  });
  test('deny denies the request', async () => {
    const decision = await checkWith(mode('deny'), failing).send();
    expect(decision).toMatchObject({ verdict: 'deny', mode: 'closed', reason: 'store_failure' });
  });
  test('local counts in this process', async () => {
    const { send } = checkWith(mode('local'), failing);
    expect(await send()).toMatchObject({ verdict: 'allow', mode: 'local' });
    expect(await send()).toMatchObject({ verdict: 'deny', mode: 'local', reason: 'over_limit' });
  });
  test('local includes what the store admitted before', async () => {
    let isAway = false;
    const redis: QuotaStore = {
      take: async (descriptors) => {
        if (isAway) throw new StoreError('timeout', 'too late');
        const states = descriptors.map(({ quota: { limit } }) => {
          return { limit, remaining: 1, resetAfterMs: 1, retryAfterMs: 0 };
        });
        return { admitted: true, states, nowMs: NOON_MS };
      },
      reset: async () => {},
    };
    const { send } = checkWith(
      '{ version: 1, default: { limits: [3/1min], on_store_failure: local } }',
      redis,
    );
    await send();
    await send();
    isAway = true;
    const verdicts = [(await send()).verdict, (await send()).verdict];
    expect(verdicts).toEqual(['allow', 'deny']);
  });
  test('of several policies, the strictest on_store_failure decides', async () => {
    const { send } = checkWith(
      `
version: 1
default: { limits: [9/1min] }
policies: [{ name: all, always: true, limits: [{ rate: 9/1min, per: global }], on_store_failure: deny }]`,
      failing,
    );
    expect(await send()).toMatchObject({ verdict: 'deny', mode: 'closed', policy: 'all' });
  });
  test('an error that is no store failure is thrown', async () => {
    const broken: QuotaStore = { ...failing, take: () => Promise.reject(new TypeError('bug')) };
    await expect(checkWith(mode('allow'), broken).send()).rejects.toThrow(TypeError);
  });
});

test('preflights use up the limit of the default, and are not reported as unmatched', async () => {
  const { send, unmatched } = checkWith(`
version: 1
default: { limits: [3/1min] }
policies: [{ name: login, match: { path: /login }, limits: [1/1min] }]`);
  const headers = { origin: 'https://a.example', 'access-control-request-method': 'POST' };
  const preflight = { method: 'OPTIONS', target: '/login', headers };
  const policies: (readonly [string, string])[] = [];
  for (const parts of [preflight, preflight, { target: '/login' }, preflight, preflight]) {
    const { policy, verdict } = await send(parts);
    policies.push([policy, verdict]);
  }
  expect(policies).toEqual([
    ['default', 'allow'],
    ['default', 'allow'],
    ['login', 'allow'],
    ['default', 'allow'],
    ['default', 'deny'],
  ]);
  expect(unmatched()).toBe(0);
  await send({ target: '/other' });
  expect(unmatched()).toBe(1);
});
