import { expect, test, vi } from 'vitest';
import { createSharedKeys } from '../../../../src/gateway/app/shared-keys.ts';
import { MemoryKeyStore } from '../../../../src/gateway/keys/memory-key-store.ts';
import { changeKeys, digestOf, keyRecord, observedKeyEvents } from '../../../support/keys.ts';
import { policySetFrom } from '../../../support/policies.ts';

const SET = policySetFrom('{ version: 1, default: { limits: [5/1h] } }');

function setUp(keysInStore: boolean) {
  const keyStore = new MemoryKeyStore();
  const changesSince = vi.spyOn(keyStore, 'changesSince');
  const policies = { current: { ...SET, keysInStore } };
  const events = observedKeyEvents();
  const shared = createSharedKeys({ keyStore, policies, events, deadlineMs: 10_000 });
  return { ...shared, policies, changesSince };
}

test('changes are read only while the policy file in force takes keys from the store', async () => {
  const { refresh, policies, changesSince } = setUp(false);
  await refresh();
  expect(changesSince).not.toHaveBeenCalled();
  policies.current = { ...SET, keysInStore: true };
  await refresh();
  expect(changesSince).toHaveBeenCalledOnce();
});

test('without Redis, a key that is added, changed and removed is so at once', async () => {
  const { keys } = setUp(true);
  const acme = keyRecord('acme');
  const planOf = async () => {
    await keys.lookUp([acme.digest], () => 'i.address');
    return keys.find(acme.digest)?.plan;
  };
  expect(await planOf()).toBeUndefined();
  await keys.put([acme]);
  expect(await planOf()).toBe('free');
  expect(keys.clientOf(acme.partition)?.id).toBe('acme');
  await changeKeys(keys, 'acme', { plan: 'pro' });
  expect(await planOf()).toBe('pro');
  expect((await keys.ofDigests([acme.digest]))[0]).toEqual({ ...acme, plan: 'pro' });
  expect(await keys.remove([acme])).toBe(1);
  expect(await planOf()).toBeUndefined();
  expect((await keys.ofDigests([digestOf('acme')]))[0]).toBeUndefined();
});
