/** A check waits for the look-up of a key, and for the store, no longer than a request may wait for the store. */
import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { createCheck, UNOBSERVED } from '../../../../src/gateway/core/check.ts';
import type { TakeResult } from '../../../../src/gateway/core/counting/store.ts';
import type {
  KeyDirectory,
  StoredKey,
} from '../../../../src/gateway/core/identity/key-directory.ts';
import { listedKeyPartition } from '../../../../src/gateway/core/identity/partition.ts';
import { NO_OVERRIDES } from '../../../../src/gateway/core/overrides.ts';
import { localShare } from '../../../../src/gateway/stores/local-share.ts';
import { MemoryStore } from '../../../../src/gateway/stores/memory/memory-store.ts';
import { policySetFrom } from '../../../support/policies.ts';
import { checkRequest, NOON_MS, SALTS } from '../../../support/requests.ts';

const ACME: StoredKey = {
  id: 'acme',
  partition: listedKeyPartition('acme'),
  plan: 'pro',
  isBlocked: false,
  endsMs: Number.POSITIVE_INFINITY,
};

const SET = policySetFrom(`
version: 1
identity: { api_key: { keys: redis } }
default: { limits: [1/1h], plans: { pro: [2/1h] }, on_store_failure: deny }`);

/** The store and the key directory answer when the test says so. */
function gateway() {
  const memory = new MemoryStore({ now: () => NOON_MS, maxKeys: 1_000 });
  const found = Promise.withResolvers<void>();
  const late = Promise.withResolvers<void>();
  const store = { answers: true, takes: 0 };
  const known = new Map<string, StoredKey>();
  const keys: KeyDirectory = {
    find: (digest) => known.get(digest),
    isKnown: (digest) => known.has(digest),
    lookUp: (digests) => (digests.every((each) => known.has(each)) ? undefined : found.promise),
    clientOf: () => undefined,
  };
  const plans: (string | undefined)[] = [];
  const check = createCheck({
    store: {
      take(descriptors): Promise<TakeResult> {
        store.takes++;
        return store.answers
          ? Promise.resolve(memory.take(descriptors))
          : Promise.withResolvers<TakeResult>().promise;
      },
    },
    local: localShare(memory, () => ({ count: 1, rank: 0 })),
    salts: { at: () => SALTS },
    overrides: { current: NO_OVERRIDES },
    keys,
    newId: () => 'an-id',
    observer: { ...UNOBSERVED, planned: (plan) => plans.push(plan) },
    deadline: () => late.promise,
  });
  const send = () => check(checkRequest({ headers: { 'x-api-key': 'acme-key' } }), SET, NOON_MS);
  const know = () => known.set(hash('sha256', 'acme-key', 'base64url'), ACME);
  return { send, found, late, store, know, plans };
}

test('a look-up comes before the take, and the key is then listed', async () => {
  const { send, found, store, know, plans } = gateway();
  const decided = send();
  expect(store.takes).toBe(0);
  know();
  found.resolve();
  expect(await decided).toMatchObject({ verdict: 'allow', mode: 'enforced' });
  expect(plans).toEqual(['pro']);
});

test('a look-up that finds nothing leaves the key unlisted', async () => {
  const { send, found, plans } = gateway();
  const decided = send();
  found.resolve();
  expect(await decided).toMatchObject({ verdict: 'allow', mode: 'enforced' });
  expect(plans).toEqual([]);
});

test('a request that has used up its time for the look-up does not wait for the store as well', async () => {
  const { send, found, late, store } = gateway();
  store.answers = false;
  const decided = send();
  late.resolve();
  found.resolve();
  expect(await decided).toMatchObject({ verdict: 'deny', mode: 'closed' });
});
