import { describe, expect, test } from 'vitest';
import {
  BLOCKED,
  type Decision,
  MALFORMED_HOST,
  MALFORMED_PATH,
} from '../../../../src/gateway/core/counting/decision.ts';
import { DeniedClients } from '../../../../src/gateway/denials/denied-clients.ts';
import { deniedClient } from '../../../support/denials.ts';
import { NOON_MS } from '../../../support/requests.ts';

function setUp() {
  const clock = { nowMs: NOON_MS };
  const clients = new DeniedClients({ now: () => clock.nowMs, onForgotten: () => {} });
  const deny = (client: string, decision: Decision = BLOCKED, address = client) => {
    const denied = deniedClient(client, address);
    const id = clients.name(decision, denied);
    const denial = { id, ...denied };
    clients.add({ decision: { ...decision, denial }, denial, answered: undefined });
    return id;
  };
  const top = () =>
    clients.top(10, 300_000).map(({ latest, count }) => [latest?.recorded.denial.client, count]);
  return { clock, clients, deny, top };
}

test('the client with the most denials comes first, and old denials do not count', () => {
  const { clock, deny, top } = setUp();
  for (let i = 0; i < 3; i++) deny('i.a');
  clock.nowMs += 200_000;
  for (let i = 0; i < 5; i++) deny('i.b');
  expect(top()).toEqual([
    ['i.b', 5],
    ['i.a', 3],
  ]);
  clock.nowMs += 200_000;
  expect(top()).toEqual([['i.b', 5]]);
});

test('a client with malformed requests is found by their ids, and is not among those denied most', () => {
  const { clients, deny, top } = setUp();
  const ids = [MALFORMED_PATH, MALFORMED_HOST].map((decision) => deny('i.a', decision));
  deny('i.b');
  expect(top()).toEqual([['i.b', 1]]);
  for (const id of ids) expect(clients.find(id)?.client.client).toBe('i.a');
});

test('every denial has its own id, which leads to its client', () => {
  const { clients, deny } = setUp();
  const ids = ['i.a', 'i.a', 'i.b'].map((client) => deny(client));
  expect(new Set(ids).size).toBe(3);
  expect(ids.map((id) => clients.find(id)?.run?.recorded.denial.client)).toEqual([
    'i.a',
    'i.a',
    'i.b',
  ]);
  const [tag] = (ids[0] ?? '').split('-');
  for (const id of ['', '-', `${tag}-3`, `${tag}-x`, `${tag}-0`, `${tag}-1.5`, '000000000000-1']) {
    expect(clients.find(id), id).toBeUndefined();
  }
});

test('a client that keeps retrying does not push others out', () => {
  const { clients, deny } = setUp();
  const id = deny('i.customer');
  for (let i = 0; i < 100_000; i++) deny('i.bot');
  expect(clients.find(id)?.client.count).toBe(1);
});

test.each<[string, Partial<Decision>]>([
  ['by a limit of its address', { binding: { key: 'hg:v1:{i.bot}:login:client.1' } as never }],
  ['by a global limit', { binding: { key: 'hg:v1:{g}:login:global.1' } as never }],
  ['without being counted', {}],
])('a client that invents keys and is denied %s is one client: its address', (_why, parts) => {
  const { clients, deny, top } = setUp();
  const id = deny('i.customer');
  for (let i = 0; i < 20_000; i++) deny(`k.${i}`, { ...BLOCKED, ...parts }, 'i.bot');
  expect(clients.find(id)).toBeDefined();
  expect(clients.top(1, 300_000)[0]).toMatchObject({ client: 'i.bot', count: 20_000 });
  expect(top()).toHaveLength(2);
});

test('a client that reaches the limit of its key is that key', () => {
  const { clients, deny } = setUp();
  const usedUp = { binding: { key: 'hg:v1:{k.a}:login:client.1' } } as Decision;
  deny('k.a', { ...BLOCKED, ...usedUp }, 'i.a');
  expect(clients.top(1, 300_000)[0]?.client).toBe('k.a');
});

test('if there are too many clients, one that is denied again and again stays', () => {
  const { clients, deny } = setUp();
  const early = deny('i.once');
  for (let i = 0; i < 30_000; i++) {
    deny(`i.${i}`);
    if (i % 100 === 0) deny('i.bot');
  }
  expect(clients.find(early)).toBeUndefined();
  const [first, ...others] = clients.top(20_000, 300_000);
  expect(first?.count).toBe(300);
  expect(others.length).toBeLessThan(10_000);
});

test('after more than ten minutes without a denial the count starts again, under the same id', () => {
  const { clock, clients, deny } = setUp();
  const before = deny('i.a');
  clock.nowMs += 600_000;
  deny('i.a');
  expect(clients.find(before)?.client).toMatchObject({ count: 2, sinceMs: NOON_MS });
  clock.nowMs += 600_001;
  const after = deny('i.a');
  expect(clients.find(before)?.client).toBe(clients.find(after)?.client);
  expect(clients.find(after)?.client).toMatchObject({
    ...{ count: 1, sinceMs: NOON_MS + 1_200_001 },
  });
});

test('only clients that were denied within the given time are listed', () => {
  const { clock, clients, deny } = setUp();
  deny('i.a');
  clock.nowMs += 1_000;
  expect(clients.top(10, 1_000)).toHaveLength(1);
  expect(clients.top(10, 999)).toEqual([]);
});

test('a client whose first denial is still being answered is not listed', () => {
  const { clients } = setUp();
  clients.name(BLOCKED, deniedClient('i.a'));
  expect(clients.top(10, Number.POSITIVE_INFINITY)).toEqual([]);
});

test('a client that was reset is not listed until it is denied again, and its decision is still found', () => {
  const { clients, deny, top } = setUp();
  const full = (client: string) =>
    ({ ...BLOCKED, reason: 'over_limit', binding: { key: `hg:v1:{${client}}:login` } }) as Decision;
  const id = deny('i.a', full('i.a'));
  deny('i.a', full('i.a'));
  deny('i.b', full('g'));
  clients.reset(['hg:v1:{i.a}:search', 'hg:v1:{i.c}:login']);
  expect(top()).toEqual([
    ['i.a', 2],
    ['i.b', 1],
  ]);
  clients.reset(['hg:v1:{i.a}:login']);
  expect(top()).toEqual([['i.b', 1]]);
  expect(clients.find(id)).toMatchObject({ client: { count: 2 }, run: { isReset: true } });
  deny('i.a', full('i.a'));
  expect(top()).toContainEqual(['i.a', 1]);
});

describe('a decision id', () => {
  const full = (key: string) =>
    ({ ...BLOCKED, reason: 'over_limit', binding: { key: `hg:v1:{${key}}:login` } }) as Decision;

  test('keeps its own cause, however often the client is denied for another one', () => {
    const { clients, deny } = setUp();
    const own = deny('k.mine', full('i.a'), 'i.a');
    for (let i = 0; i < 1_000; i++) deny('k.other', full('i.a'), 'i.a');
    expect(clients.find(own)).toMatchObject({
      client: { client: 'i.a', count: 1_001 },
      run: { first: 1, last: 1, recorded: { denial: { client: 'k.mine', id: own } } },
    });
  });

  test('shares the cause of those right before and after it', () => {
    const { clock, clients, deny } = setUp();
    const ids = ['k.a', 'k.a', 'k.a', 'k.b'].map((key) => {
      clock.nowMs += 1_000;
      return deny(key, full('i.a'), 'i.a');
    });
    expect(clients.find(ids[1] ?? '')?.run).toMatchObject({
      ...{ first: 1, last: 3, sinceMs: NOON_MS + 1_000, lastMs: NOON_MS + 3_000 },
    });
    expect(clients.find(ids[3] ?? '')?.run).toMatchObject({ first: 4, last: 4 });
  });

  test('is no longer kept after many other causes, and its client is still known', () => {
    const { clients, deny } = setUp();
    const ids = Array.from({ length: 1_000 }, (_, i) => deny(`k.${i}`, full('i.a'), 'i.a'));
    const [first = '', ...others] = ids;
    expect(clients.find(first)).toMatchObject({ client: { client: 'i.a' }, run: undefined });
    const kept = others.filter((id) => clients.find(id)?.run !== undefined);
    expect(kept).toEqual(others.slice(-101));
    for (const id of kept) expect(clients.find(id)?.run?.recorded.denial.id).toBe(id);
  });

  test('of a client with one cause is kept while thousands of others change theirs', () => {
    const { clients, deny } = setUp();
    const own = deny('i.customer', full('i.customer'));
    for (let i = 0; i < 1_000; i++) {
      for (let j = 0; j < 30; j++) deny(`k.${i}.${j}`, full(`i.${i}`), `i.${i}`);
    }
    expect(clients.find(own)?.run?.recorded.denial.id).toBe(own);
    const kept = [...clients.all()].filter(({ tag }) => clients.find(`${tag}-1`)?.run);
    expect(kept.length).toBeLessThan(1_000);
  });

  test('by another limit, or from another address, has another cause', () => {
    const { clients, deny } = setUp();
    const one = deny('c.acme', full('c.acme'), 'i.a');
    const two = deny('c.acme', full('i.a'), 'i.a');
    const three = deny('c.acme', full('i.a'), 'i.b');
    const firsts = [one, two, three].map((id) => clients.find(id)?.run?.first);
    expect(firsts).toEqual([1, 2, 3]);
  });

  test('knows whether the quota that denied it was reset, whatever denied the client since', () => {
    const { clients, deny } = setUp();
    const own = deny('c.acme', full('c.acme'), 'i.a');
    const other = deny('c.acme', full('i.a'), 'i.a');
    clients.reset(['hg:v1:{c.acme}:login']);
    expect(clients.find(own)?.run?.isReset).toBe(true);
    expect(clients.find(other)?.run?.isReset).toBe(false);
    expect(clients.top(10, 300_000)).toHaveLength(1);
  });

  test('that was given and not answered is not taken for another one', () => {
    const { clients, deny } = setUp();
    deny('i.a');
    const lost = clients.name(BLOCKED, deniedClient('i.a'));
    deny('i.a');
    expect(clients.find(lost)).toMatchObject({ client: { count: 2 }, run: undefined });
  });
});
