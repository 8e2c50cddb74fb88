import { expect, test } from 'vitest';
import {
  MAX_OVERRIDES,
  OverrideStoreFull,
} from '../../../../../src/gateway/stores/overrides/override.ts';
import {
  READ_OVERRIDES_SCRIPT,
  RedisOverrideStore,
  WRITE_OVERRIDES_SCRIPT,
} from '../../../../../src/gateway/stores/overrides/redis-override-store.ts';
import { NOON_MS } from '../../../../support/requests.ts';
import { type Reply, scriptedClient } from '../../../../support/scripted-redis-client.ts';

const DAY_MS = 86_400_000;

function setUp(reply: Reply, deadlineMs = 5_000) {
  const clock = { nowMs: NOON_MS };
  const { client, sent } = scriptedClient(reply);
  const store = new RedisOverrideStore({ client, deadlineMs, now: () => clock.nowMs });
  return { store, client, sent, clock };
}

const KEY = 'hg:v1:notices';
const CHANNEL = 'hg:v1:notices';

test('reads overrides, with their ends by the clock of this process', async () => {
  // The server's clock is an hour behind.
  const serverMs = NOON_MS - 3_600_000;
  const { store, sent } = setUp(() => [
    serverMs,
    'a',
    `${serverMs + 500} the text`,
    'b',
    `${serverMs + 9} `,
  ]);
  expect(await store.read()).toEqual([
    { about: 'a', untilMs: NOON_MS + 500, text: 'the text' },
    { about: 'b', untilMs: NOON_MS + 9, text: '' },
  ]);
  expect(sent).toEqual([{ name: 'eval', args: [READ_OVERRIDES_SCRIPT, 1, KEY] }]);
});

test('does not move the end of an override for small differences of clocks', async () => {
  let serverMs = NOON_MS - 1_900;
  const { store } = setUp(() => [serverMs, 'a', `${NOON_MS + 500} x`]);
  expect(await store.read()).toMatchObject([{ untilMs: NOON_MS + 500 }]);
  serverMs = NOON_MS - 2_100;
  expect(await store.read()).toMatchObject([{ untilMs: NOON_MS + 2_600 }]);
});

test.each([
  ['that ends later than any', `${NOON_MS + 33 * DAY_MS} x`],
  ['without an end', 'soon x'],
])('leaves out an override %s', async (_, value) => {
  const { store } = setUp(() => [NOON_MS, 'a', value, 'b', `${NOON_MS + 32 * DAY_MS} y`]);
  expect(await store.read()).toMatchObject([{ about: 'b' }]);
});

test('refuses more overrides than gateways write; removed ones do not count', async () => {
  const rows = (count: number, text: string) =>
    Array.from({ length: count }, (_, i) => [`${text}${i}`, `${NOON_MS + 500} ${text}`]).flat();
  const enough = [NOON_MS, ...rows(MAX_OVERRIDES, 'x'), ...rows(50, ''), ...rows(50, '-')];
  expect(await setUp(() => enough).store.read()).toHaveLength(MAX_OVERRIDES + 100);
  const tooMany = [...enough, ...rows(1, 'y')];
  await expect(setUp(() => tooMany).store.read()).rejects.toMatchObject({ reason: 'malformed' });
});

test.each([
  ['a reply that is no list', () => 'OK', 'malformed'],
  ['an error', () => Promise.reject(new Error('Connection is closed.')), 'connection'],
])('fails with a StoreError for %s', async (_, reply, reason) => {
  await expect(setUp(reply).store.read()).rejects.toMatchObject({ name: 'StoreError', reason });
});

test('waits no longer than its deadline', async () => {
  const { store } = setUp(() => new Promise(() => {}), 1);
  await expect(store.read()).rejects.toMatchObject({ reason: 'timeout' });
});

test('stores an override for as long as it lasts, in place of another one', async () => {
  const { store, sent } = setUp(() => 1);
  await store.put({ about: 'a', untilMs: NOON_MS + 70.2, text: 'x' });
  expect(sent).toEqual([
    {
      name: 'eval',
      args: [WRITE_OVERRIDES_SCRIPT, 1, KEY, CHANNEL, MAX_OVERRIDES, 0, 'a', 71, 'x'],
    },
  ]);
});

test('says so when there are too many', async () => {
  await expect(
    setUp(() => -1).store.put({ about: 'a', untilMs: NOON_MS + 70, text: 'x' }),
  ).rejects.toThrow(OverrideStoreFull);
});

test('restores lost overrides, and keeps stored ones', async () => {
  const { store, sent } = setUp(() => 1);
  await store.restoreLost([
    { about: 'a', untilMs: NOON_MS + 70, text: 'x' },
    // One that has ended lasts a millisecond: 0 would remove another one.
    { about: 'b', untilMs: NOON_MS - 5, text: 'y' },
  ]);
  expect(sent[0]?.args.slice(5)).toEqual([1, 'a', 70, 'x', 'b', 1, 'y']);
});

test.each([
  [1, true],
  [0, false],
])('removes an override: %i means %s', async (reply, isRemoved) => {
  const { store, sent } = setUp(() => reply);
  expect(await store.remove('a')).toBe(isRemoved);
  expect(await store.remove('a', '-a note')).toBe(isRemoved);
  expect(sent.map(({ args }) => args.slice(5))).toEqual([
    [0, 'a', 0, ''],
    [0, 'a', 0, '-a note'],
  ]);
});

test('sends no change without a connection, so that nothing can have changed', async () => {
  const { store, client, sent } = setUp(() => 1);
  Object.assign(client, { status: 'reconnecting' });
  const override = { about: 'a', untilMs: NOON_MS + 60_000, text: 'x' };
  await expect(store.put(override)).rejects.toMatchObject({ reason: 'refused' });
  await expect(store.remove('a')).rejects.toMatchObject({ reason: 'refused' });
  expect(sent).toEqual([]);
});
