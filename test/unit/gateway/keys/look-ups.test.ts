import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { StoreError } from '../../../../src/gateway/core/counting/store.ts';
import type { KeyStore } from '../../../../src/gateway/keys/key-store.ts';
import { KnownKeys } from '../../../../src/gateway/keys/known-keys.ts';
import { LookUps } from '../../../../src/gateway/keys/look-ups.ts';
import type { KeyRecord } from '../../../../src/gateway/keys/stored-keys.ts';
import { digestOf, keyRecord, observedKeyEvents } from '../../../support/keys.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

const DEADLINE_MS = 50;

/** A store that answers when the test says so. */
function setUp(records: readonly KeyRecord[] = []) {
  const kept = new Map(records.map((record) => [record.digest, record]));
  const calls: {
    readonly digests: readonly string[];
    readonly answer: () => Promise<void>;
    readonly fail: () => Promise<void>;
  }[] = [];
  const store: Pick<KeyStore, 'groupsOf' | 'lookUp'> = {
    groupsOf: (digests) => [digests],
    lookUp(digests) {
      const { promise, resolve, reject } = Promise.withResolvers<(KeyRecord | undefined)[]>();
      // As a server does, it reads when it gets the call, and answers later.
      const found = digests.map((digest) => kept.get(digest));
      calls.push({
        digests,
        answer() {
          resolve(found);
          return nextTurn();
        },
        fail() {
          reject(new StoreError('connection', 'closed'));
          return nextTurn();
        },
      });
      return promise;
    },
  };
  const clock = { nowMs: 0 };
  const known = new KnownKeys(() => clock.nowMs);
  const events = observedKeyEvents();
  const lookUps = new LookUps({
    ...{ store, known, events, deadlineMs: DEADLINE_MS, now: () => clock.nowMs },
  });
  const idOf = (digest: string) => known.find(digest)?.id;
  /** Looks a key up for a request, and resolves to its id once the request goes on. */
  const ask = async (key: string, address = 'a') => {
    await lookUps.lookUp([digestOf(key)], () => address);
    return idOf(digestOf(key));
  };
  const answerAll = async () => {
    while (calls.length > 0) await calls.shift()?.answer();
  };
  return { kept, calls, store, known, clock, events, lookUps, ask, answerAll, idOf };
}

const ACME = keyRecord('acme');
const BETA = keyRecord('beta');

describe('one call', () => {
  test('looks up the keys of all requests of a turn, each once, and none that is known', async () => {
    const { ask, calls, events, lookUps } = setUp([ACME, BETA]);
    const asked = [ask('acme'), ask('beta', 'b'), ask('invented', 'c'), ask('acme', 'd')];
    expect(calls).toHaveLength(0);
    await nextTurn();
    expect(calls.map(({ digests }) => digests)).toEqual([
      [ACME.digest, BETA.digest, digestOf('invented')],
    ]);
    // While it is under way, further requests wait for the same answer.
    asked.push(ask('beta'));
    await nextTurn();
    expect(calls).toHaveLength(1);
    await calls[0]?.answer();
    expect(await Promise.all(asked)).toEqual(['acme', 'beta', undefined, 'acme', 'beta']);
    expect(events.lookedUp.mock.calls).toEqual([[3, 2]]);
    for (const key of ['acme', 'beta', 'invented']) {
      expect(lookUps.lookUp([digestOf(key)], () => 'a')).toBeUndefined();
    }
  });

  test('takes 128 keys at most; the others go with the next turns', async () => {
    const { ask, calls, answerAll } = setUp();
    const asked = Array.from({ length: 300 }, (_, i) => ask(`${i}`, `${i}`));
    await nextTurn();
    expect(calls.map(({ digests }) => digests.length)).toEqual([128]);
    await nextTurn();
    await nextTurn();
    expect(calls.map(({ digests }) => digests.length)).toEqual([128, 128, 44]);
    await answerAll();
    await Promise.all(asked);
  });

  test('of a cluster takes the keys of a slot', async () => {
    const { store, ask, calls, answerAll } = setUp([ACME, BETA]);
    store.groupsOf = (digests) => digests.map((digest) => [digest]);
    const asked = [ask('acme'), ask('beta')];
    await nextTurn();
    expect(calls.map(({ digests }) => digests)).toEqual([[ACME.digest], [BETA.digest]]);
    await answerAll();
    expect(await Promise.all(asked)).toEqual(['acme', 'beta']);
  });
});

describe('a late answer', () => {
  test('keeps no request waiting, and is used for the next ones if it names a key', async () => {
    const { ask, calls, events, idOf, lookUps } = setUp([ACME]);
    const asked = [ask('acme'), ask('invented')];
    await nextTurn();
    await vi.advanceTimersByTimeAsync(DEADLINE_MS);
    await nextTurn();
    expect(await Promise.all(asked)).toEqual([undefined, undefined]);
    expect(events.lookUpsLate.mock.calls).toEqual([[2]]);
    await calls[0]?.answer();
    // They are counted once, as late.
    expect(events.lookedUp).not.toHaveBeenCalled();
    expect(idOf(ACME.digest)).toBe('acme');
    // That there is no such key is not remembered.
    expect(lookUps.lookUp([digestOf('invented')], () => 'a')).toBeDefined();
  });

  test('is not followed by further calls until it came', async () => {
    const { ask, calls, events, lookUps } = setUp([ACME, BETA]);
    const asked = ask('invented');
    await nextTurn();
    await vi.advanceTimersByTimeAsync(DEADLINE_MS);
    await nextTurn();
    await asked;
    expect(lookUps.lookUp([ACME.digest], () => 'a')).toBeUndefined();
    expect(events.lookUpsLate.mock.calls).toEqual([[1], [1]]);
    // This one was asked for before, and its request goes on at once as well.
    expect(await ask('invented')).toBeUndefined();
    expect(calls).toHaveLength(1);
    await calls[0]?.answer();
    const next = ask('acme');
    await nextTurn();
    await calls[1]?.answer();
    expect(await next).toBe('acme');
  });
});

test('a call that fails leaves its keys unlisted for its requests, and the next request looks them up', async () => {
  const { ask, calls, events } = setUp([ACME]);
  const asked = [ask('acme'), ask('invented')];
  await nextTurn();
  await calls[0]?.fail();
  expect(await Promise.all(asked)).toEqual([undefined, undefined]);
  expect(events.lookUpsFailed.mock.calls).toEqual([[expect.any(StoreError), 2]]);
  const again = [ask('acme'), ask('invented')];
  await nextTurn();
  await calls[1]?.answer();
  expect(await Promise.all(again)).toEqual(['acme', undefined]);
});

describe('a change', () => {
  test.each([
    ['of the key', [ACME.digest]],
    ['of any key', undefined],
  ])('%s while it is looked up makes it be looked up again', async (_, changed) => {
    const { kept, calls, ask, lookUps, known } = setUp([ACME]);
    const asked = ask('acme');
    await nextTurn();
    kept.set(ACME.digest, { ...ACME, plan: 'pro' });
    lookUps.changed(changed);
    await calls[0]?.answer();
    await nextTurn();
    expect(known.has(ACME.digest)).toBe(false);
    await calls[1]?.answer();
    expect(await asked).toBe('acme');
    expect(known.find(ACME.digest)?.plan).toBe('pro');
  });

  test('of another key changes nothing', async () => {
    const { calls, ask, lookUps } = setUp([ACME]);
    const asked = ask('acme');
    await nextTurn();
    lookUps.changed([BETA.digest]);
    await calls[0]?.answer();
    expect(await asked).toBe('acme');
  });

  test.each([
    ['a key', [ACME]],
    ['no key', []],
  ])('is stronger than an answer that is late and names %s', async (_, records) => {
    const { calls, ask, lookUps, known } = setUp(records);
    const asked = ask('acme');
    await nextTurn();
    await vi.advanceTimersByTimeAsync(DEADLINE_MS);
    await nextTurn();
    await asked;
    lookUps.changed([ACME.digest]);
    await calls[0]?.answer();
    expect(known.has(ACME.digest)).toBe(false);
  });
});

describe('invented keys', () => {
  test('are looked up 60 times for an address, then once a second; customers of others are found', async () => {
    const { ask, answerAll, clock, events, lookUps } = setUp([ACME]);
    const invent = async (count: number, from: number) => {
      let lookedUp = 0;
      for (let i = 0; i < count; i++) {
        if (lookUps.lookUp([digestOf(`${from + i}`)], () => 'a') === undefined) continue;
        lookedUp++;
        await nextTurn();
        await answerAll();
      }
      return lookedUp;
    };
    expect(await invent(100, 0)).toBe(60);
    expect(events.tooManyInvented.mock.calls).toEqual(Array(40).fill(['a']));
    clock.nowMs += 5_000;
    expect(await invent(100, 100)).toBe(5);
    const customer = ask('acme', 'b');
    await nextTurn();
    await answerAll();
    expect(await customer).toBe('acme');
    // Nobody looks it up again for the address that invents.
    expect(await ask('acme')).toBe('acme');
  });

  test('are none of 500 customers who come from one address at once, nor those of one who sends more than a key', async () => {
    const customers = Array.from({ length: 500 }, (_, i) => keyRecord(`customer ${i}`));
    const { ask, answerAll, lookUps, events, known } = setUp(customers);
    const asked = customers.map(({ id }) => ask(id));
    for (let i = 0; i < 5; i++) await nextTurn();
    await answerAll();
    expect(await Promise.all(asked)).toEqual(customers.map(({ id }) => id));
    known.forget(undefined);
    for (const [i, { digest }] of customers.entries()) {
      const more = lookUps.lookUp([digestOf(`signature ${i}`), digest], () => 'a');
      await nextTurn();
      await answerAll();
      await more;
    }
    expect(events.tooManyInvented).not.toHaveBeenCalled();
  });

  test('that many requests send at once count once', async () => {
    const { ask, answerAll, events } = setUp();
    const asked = Array.from({ length: 1_000 }, () => ask('revoked'));
    await nextTurn();
    await answerAll();
    await Promise.all(asked);
    await Promise.all([ask('another'), nextTurn().then(answerAll)]);
    expect(events.tooManyInvented).not.toHaveBeenCalled();
  });

  test('wait in bounds: beyond them, keys are unlisted', async () => {
    const { answerAll, lookUps, events } = setUp();
    const begun = Array.from({ length: 6_000 }, (_, i) =>
      lookUps.lookUp([digestOf(`${i}`)], () => `${i}`),
    );
    expect(begun.filter((each) => each !== undefined)).toHaveLength(5_000);
    expect(events.lookUpsLate.mock.calls).toEqual(Array(1_000).fill([1]));
    for (let i = 0; i < 40; i++) await nextTurn();
    await answerAll();
  });

  test('do not count while the store fails', async () => {
    const { ask, calls, events } = setUp();
    for (let i = 0; i < 100; i++) {
      const asked = ask(`${i}`);
      await nextTurn();
      await calls[i]?.fail();
      await asked;
    }
    expect(events.tooManyInvented).not.toHaveBeenCalled();
  });
});
