/** What operators are told about a client that the policy file or an operator blocks or exempts. */
import { hash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type OperatedOptions, operatedGateway } from '../../../support/operated-gateway.ts';
import { policySetFrom } from '../../../support/policies.ts';
import { NOON_MS } from '../../../support/requests.ts';

const FILE = `version: 1
identity:
  sources: [api_key, ip]
  trusted_proxies: [loopback, 10.0.0.0/8]
  api_key: { keys: [{ id: acme, sha256: ${hash('sha256', 'key-of-acme')} }, { id: initech, sha256: ${hash('sha256', 'key-of-initech')} }] }
block:
  # scrapers of May
  - 203.0.113.0/24
  - { address: 198.51.100.7, expires: 2026-11-30, comment: ticket 4711 }
  - key: initech # unpaid
  - 2001:db8:bad::/48
  - { address: 192.0.2.1, expires: 2026-01-01 }
  - 198.51.100.20
  - 198.51.100.16/28
exempt: [203.0.113.77, 10.9.0.7, 2001:db8:bad::5] # our own monitors
default: { limits: [2/1h] }
`;
const TERMS = { for: '10min', reason: 'a test', by: 'ada' } as const;
const SCRAPERS = 'policies.yaml:8 blocks 203.0.113.0/24, "scrapers of May"';

beforeEach(() => void vi.useFakeTimers({ now: NOON_MS }));
afterEach(() => void vi.useRealTimers());

const setUp = (options: Partial<OperatedOptions> = {}) =>
  operatedGateway({ policies: policySetFrom(FILE), now: Date.now, ...options });
type Operated = ReturnType<typeof setUp>;

async function told({ operate }: Operated, client: string) {
  const { access, listed } = await operate('inspect', { client });
  return [access, ...listed.map(({ what }) => what)];
}

async function explained({ operate }: Operated, client: string, key?: string) {
  const headers = key === undefined ? {} : { 'x-api-key': key };
  const { steps, answer } = await operate('explain', { url: '/', client, headers });
  const identity = steps.filter(({ about }) => about === 'identity').map(({ what }) => what);
  return [answer.status, ...identity.filter((what) => !/api_key|API key|ip identifies/.test(what))];
}

async function denial(gateway: Operated, client: string, key?: string) {
  const headers = key === undefined ? {} : { 'x-api-key': key };
  return (await gateway.visit({ client, headers })).denial?.id ?? '';
}

const MONITORS = '"our own monitors"';
const EXEMPT = `policies.yaml:15 exempts 203.0.113.77, ${MONITORS}`;
const NO_EFFECT = 'no effect: exempt wins over block';
const SHARED =
  'no effect: many clients share the address of a trusted proxy, which is never exempt';

test.each<[string, string, number, (string | undefined)[]]>([
  ['a range', '203.0.113.9', 403, ['blocked', SCRAPERS]],
  ['a range, in another spelling', '::ffff:203.0.113.9', 403, ['blocked', SCRAPERS]],
  ['a range, through a tunnel', '2002:cb00:7109::1', 403, ['blocked', SCRAPERS]],
  [
    'an IPv6 range',
    '2001:0DB8:0bad::00ff',
    403,
    ['blocked', 'policies.yaml:11 blocks 2001:db8:bad::/48'],
  ],
  [
    'an address until a day',
    '198.51.100.7',
    403,
    [
      'blocked',
      'policies.yaml:9 blocks 198.51.100.7, "ticket 4711", until 2026-11-30 00:00:00 UTC',
    ],
  ],
  ['both lists', '203.0.113.77', 200, ['exempt', EXEMPT, `${SCRAPERS}; ${NO_EFFECT}`]],
  [
    'an entry that expired',
    '192.0.2.1',
    200,
    [
      undefined,
      'policies.yaml:12 blocks 192.0.2.1, until 2026-01-01 00:00:00 UTC; no effect: it expired',
    ],
  ],
  [
    'an exemption of a trusted proxy',
    '10.9.0.7',
    200,
    [undefined, `policies.yaml:15 exempts 10.9.0.7, ${MONITORS}; ${SHARED}`],
  ],
  [
    'two entries, which both must go',
    '198.51.100.20',
    403,
    [
      'blocked',
      'policies.yaml:13 blocks 198.51.100.20',
      'policies.yaml:14 blocks 198.51.100.16/28',
    ],
  ],
  ['no list', '198.51.100.8', 200, [undefined]],
])('an address in %s', async (_where, address, status, expected) => {
  const gateway = setUp();
  expect(await told(gateway, address)).toEqual(expected);
  const [access, ...entries] = expected;
  const first = access === undefined ? [] : [`the client is ${access}`];
  expect(await explained(gateway, address)).toEqual([status, ...first, ...entries]);
  const { reason } = await gateway.visit({ client: address });
  expect(reason).toBe(access ?? 'within_limits');
});

test('a key in the list, from any address', async () => {
  const gateway = setUp();
  const expected = ['blocked', 'policies.yaml:10 blocks key initech, "unpaid"'];
  for (const client of ['id:initech', 'key:key-of-initech']) {
    expect(await told(gateway, client)).toEqual(expected);
  }
  const id = await denial(gateway, '198.51.100.8', 'key-of-initech');
  expect(await told(gateway, id)).toEqual(expected);
  expect(await gateway.operate('decision', { id })).toMatchObject({
    ...{ blocked_by: 'policy_file', listed_at: 'policies.yaml:10' },
    ...{ cause: 'policies.yaml:10 blocks key initech, "unpaid"', client_id: 'initech' },
    listed: { list: 'block', entry: 'key initech', comment: 'unpaid', applies: true },
  });
  expect(await explained(gateway, '198.51.100.8', 'key-of-initech')).toContain(
    'policies.yaml:10 blocks key initech, "unpaid"',
  );
});

describe('the denial of a blocked address', () => {
  test('names the entry, by the id of the decision and by the name in the log', async () => {
    const gateway = setUp();
    const id = await denial(gateway, '203.0.113.9');
    const decision = await gateway.operate('decision', { id });
    expect(decision).toMatchObject({ cause: SCRAPERS, listed: { place: 'policies.yaml:8' } });
    expect(decision).not.toHaveProperty('until');
    for (const client of [id, decision.client]) {
      expect(await told(gateway, client)).toEqual(['blocked', SCRAPERS]);
    }
    expect((await gateway.operate('top')).clients).toMatchObject([{ cause: SCRAPERS }]);
  });

  test('says until when, if the entry expires', async () => {
    const gateway = setUp();
    const id = await denial(gateway, '198.51.100.7');
    expect(await gateway.operate('decision', { id })).toMatchObject({
      until: '2026-11-30T00:00:00.000Z',
    });
  });

  test('does not name another entry that stands there now', async () => {
    const gateway = setUp();
    const id = await denial(gateway, '203.0.113.9');
    const policies = { current: policySetFrom(FILE.replace('203.0.113.0/24', '192.0.2.0/24')) };
    Object.assign(gateway.gateway, { policies });
    const decision = await gateway.operate('decision', { id });
    expect(decision.cause).toBe(
      'an entry at policies.yaml:8 blocked the client; the file has changed since: no entry blocks that range now',
    );
    expect(decision).not.toHaveProperty('listed');
    const [access] = await told(gateway, decision.client);
    expect(access).toBeUndefined();
  });

  test.each([
    ['moved', '203.0.113.9', '  # scrapers of May\n', '', 'policies.yaml:7 blocks that range now'],
    [
      'widened',
      '203.0.113.9',
      '203.0.113.0/24',
      '203.0.112.0/22',
      'policies.yaml:8 blocks that range now',
    ],
    [
      'narrowed',
      '203.0.113.9',
      '203.0.113.0/24',
      '203.0.113.8',
      'it names a part of that range now; ',
    ],
    [
      'now exempt',
      '203.0.113.9',
      /203.0.113.0.24(?<rest>[\s\S]*)exempt: \[/,
      '192.0.2.0/24$<rest>exempt: [203.0.113.0/24, ',
      'policies.yaml:15 exempts that range now',
    ],
    [
      'in a range',
      '198.51.100.7',
      '{ address: 198.51.100.7, expires: 2026-11-30, comment: ticket 4711 }',
      '198.51.100.0/29',
      'policies.yaml:9 blocks that address now',
    ],
    [
      'removed',
      '198.51.100.7',
      '198.51.100.7, expires',
      '198.51.100.99, expires',
      'no entry blocks that address now',
    ],
  ])('says what applies after an entry was %s', async (_, client, before, after, now) => {
    const gateway = setUp();
    const id = await denial(gateway, client);
    Object.assign(gateway.gateway, {
      policies: { current: policySetFrom(FILE.replace(before, after)) },
    });
    expect((await gateway.operate('decision', { id })).cause).toContain(`changed since: ${now}`);
  });

  test('names an override that an exemption replaced', async () => {
    const gateway = setUp();
    await gateway.operate('block', { client: '192.0.2.9', ...TERMS });
    const id = await denial(gateway, '192.0.2.9');
    vi.advanceTimersByTime(1_000);
    await gateway.operate('exempt', { client: '192.0.2.9', ...TERMS, by: 'bob' });
    expect(await gateway.operate('decision', { id })).toMatchObject({
      cause: 'ada blocked the client, "a test"',
      overrides: [{ access: 'exempt', by: 'bob' }],
    });
  });

  test('names the blocks of a key and of its address, until the last one ends', async () => {
    const gateway = setUp();
    await gateway.operate('block', { client: 'id:acme', ...TERMS, for: '5min' });
    await gateway.operate('block', {
      client: '192.0.2.9',
      ...TERMS,
      by: 'bob',
      reason: 'office',
      for: '1h',
    });
    const id = await denial(gateway, '192.0.2.9', 'key-of-acme');
    const until = new Date(NOON_MS + 3_600_000).toISOString();
    const both = {
      cause: expect.stringMatching(
        /^ada blocked the client, "a test"; bob also blocks i\..*, "office"$/,
      ),
      until,
    };
    expect(await gateway.operate('decision', { id })).toMatchObject({
      ...both,
      overrides: [{ by: 'ada' }, { by: 'bob' }],
    });
    expect((await gateway.operate('top')).clients).toMatchObject([both]);
  });

  test('names an override and the entry, if both block the client', async () => {
    const gateway = setUp();
    await gateway.operate('block', { client: '203.0.113.9', ...TERMS });
    const id = await denial(gateway, '203.0.113.9');
    const decision = await gateway.operate('decision', { id });
    expect(decision.cause).toBe(`ada blocked the client, "a test"; ${SCRAPERS}`);
    // The entry blocks it longer than the override.
    expect(decision).not.toHaveProperty('until');
    expect(await told(gateway, '203.0.113.9')).toEqual(['blocked', SCRAPERS]);
  });

  test('names the override that denied it, and not a later one', async () => {
    const gateway = setUp();
    const client = '198.51.100.8';
    await gateway.operate('block', { client, ...TERMS });
    const id = await denial(gateway, client);
    const cause = async () => (await gateway.operate('decision', { id })).cause;
    expect(await cause()).toBe('ada blocked the client, "a test"');
    vi.advanceTimersByTime(1_000);
    await gateway.operate('unblock', { client, by: 'bob' });
    expect(await cause()).toBe('ada blocked the client, "a test"');
    vi.advanceTimersByTime(1_000);
    await gateway.operate('block', { client, ...TERMS, reason: 'another', by: 'eve' });
    vi.advanceTimersByTime(1_000);
    await gateway.operate('block', { client, ...TERMS, reason: 'a third', by: 'eve' });
    expect(await cause()).toBe('ada blocked the client, "a test"');
    const second = await denial(gateway, client);
    expect((await gateway.operate('decision', { id: second })).cause).toBe(
      'eve blocked the client, "a third"',
    );
  });

  test('says so if the override that denied it is forgotten', async () => {
    const gateway = setUp();
    const client = '198.51.100.8';
    await gateway.operate('block', { client, ...TERMS });
    const id = await denial(gateway, client);
    vi.advanceTimersByTime(600_000 + 86_400_000);
    expect((await gateway.operate('decision', { id })).cause).toBe(
      'an operator blocked the client; that override has ended or was replaced since',
    );
  });

  test('by a gateway of an older version does not say what blocked it', async () => {
    const at = new Date(NOON_MS).toISOString();
    const report = {
      ...{ decision_id: '0123456789ab-1', policy: 'none', reason: 'blocked', mode: 'enforced' },
      ...{ client: 'i.a', identity: 'ip', denials: 1, since: at, last: at },
      ...{ names: ['i.a'], networks: [] },
    };
    const { operate } = setUp({ peerAnswers: [{ report }] });
    expect((await operate('decision', { id: '0123456789ab-1' })).cause).toBe(
      'the gateway that denied the request does not say what blocked it',
    );
  });
});

test('an override takes precedence over both lists', async () => {
  const gateway = setUp();
  await gateway.operate('exempt', { client: '203.0.113.9', ...TERMS });
  const [access, entry] = await told(gateway, '203.0.113.9');
  expect([access, entry]).toEqual([
    'exempt',
    `${SCRAPERS}; no effect: an override takes precedence: exempt`,
  ]);
  expect((await gateway.operate('inspect', { client: '203.0.113.9' })).overrides).toMatchObject([
    { access: 'exempt', by: 'ada', reason: 'a test' },
  ]);
});

test('a client that is known by a pseudonym alone is not called free of the lists', async () => {
  const gateway = setUp();
  const { client } = await gateway.operate('inspect', { client: '203.0.113.9' });
  expect(await gateway.operate('inspect', { client })).toMatchObject({
    ...{ listed: [], is_address_unknown: true },
  });
  const plain = setUp({ policies: policySetFrom('version: 1\ndefault: { limits: [2/1h] }') });
  const named = await plain.operate('inspect', { client });
  expect(named).not.toHaveProperty('is_address_unknown');
});

describe('the denials of a client', () => {
  test('are those of all its names, the last one first', async () => {
    const gateway = setUp();
    const address = '198.51.100.8';
    for (let i = 0; i < 4; i++) await gateway.visit({ client: address });
    vi.advanceTimersByTime(1_000);
    for (let i = 0; i < 4; i++) {
      await gateway.visit({ client: address, headers: { 'x-api-key': 'key-of-acme' } });
    }
    await denial(gateway, '198.51.100.9');
    const { denials } = await gateway.operate('inspect', { client: address });
    expect(denials.map(({ client, denials: count }) => [client.slice(0, 2), count])).toEqual([
      ['c.', 2],
      ['i.', 2],
    ]);
    const ofKey = await gateway.operate('inspect', { client: 'id:acme' });
    expect(ofKey.denials).toMatchObject([{ client_id: 'acme', denials: 2 }]);
  });

  test('that are no longer kept lead to its last one, and to the client', async () => {
    const gateway = setUp();
    const ids: string[] = [];
    for (let i = 0; i < 300; i++) {
      const id = await denial(gateway, '198.51.100.8', `invented-${i}`);
      if (id !== '') ids.push(id);
    }
    const [first = ''] = ids;
    const message = `the decision ${first} is no longer kept, because its client`;
    await expect(gateway.operate('decision', { id: first })).rejects.toMatchObject({
      ...{ code: 'not_found', message: expect.stringContaining(message) },
    });
    await expect(gateway.operate('decision', { id: first })).rejects.toThrow(ids.at(-1));
    const { client } = await gateway.operate('inspect', { client: first });
    expect(client).toBe((await gateway.operate('inspect', { client: '198.51.100.8' })).client);
    expect(await gateway.operate('block', { client: first, ...TERMS })).toMatchObject({ client });
    await expect(gateway.operate('exempt', { client: first, ...TERMS })).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  test('by another key at the same address do not change what an id says', async () => {
    const gateway = setUp();
    for (let i = 0; i < 30; i++) await denial(gateway, '198.51.100.8', `invented-${i}`);
    const id = await denial(gateway, '198.51.100.8', 'mine');
    const own = await gateway.operate('decision', { id });
    expect(own.came_as).toMatch(/^k\./);
    for (let i = 0; i < 1_000; i++)
      await gateway.visit({ client: '198.51.100.8', headers: { 'x-api-key': 'other' } });
    const { later, ...still } = await gateway.operate('decision', { id });
    expect(still).toEqual(own);
    expect(later).toMatchObject({ denials: expect.any(Number) });
  });
});
