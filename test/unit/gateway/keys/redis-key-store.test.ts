/** What a real Redis does not do on demand; test/contract/key-store.test.ts has the rest. */
import { expect, test } from 'vitest';
import { StoreError } from '../../../../src/gateway/core/counting/store.ts';
import { RedisKeyStore } from '../../../../src/gateway/keys/redis-key-store.ts';
import { overIoredis } from '../../../../src/gateway/stores/redis/counting-connection.ts';
import { digestOf, keyRecord, observedKeyEvents } from '../../../support/keys.ts';
import { type Reply, scriptedClient } from '../../../support/scripted-redis-client.ts';

function storeOf(reply: Reply) {
  const { client, sent } = scriptedClient(reply);
  const events = observedKeyEvents();
  const store = new RedisKeyStore({ client, connection: overIoredis(client), events });
  return { store, sent, events };
}

test.each([null, 'OK', 7])('%o in place of a list is a failure of the store', async (reply) => {
  const { store } = storeOf(() => reply);
  await expect(store.lookUp([digestOf('a')])).rejects.toThrow(StoreError);
  await expect(store.find([digestOf('a')])).rejects.toThrow(StoreError);
  await expect(store.entries({ count: 5 })).rejects.toThrow(StoreError);
  await expect(store.changesSince(undefined)).rejects.toThrow(StoreError);
  await expect(store.changesSince('5-0')).rejects.toThrow(StoreError);
});

test('a list that is too short has none of the keys that are missing in it', async () => {
  const { store } = storeOf(() => ['{"id":"acme","plan":"free","added":5}']);
  const found = await store.lookUp([digestOf('acme'), digestOf('beta')]);
  expect(found).toEqual([keyRecord('acme', { addedMs: 5 }), undefined]);
});

test('an error of the server is one of the store', async () => {
  const { store } = storeOf(() => {
    throw Object.assign(new Error('NOPERM no'), { name: 'ReplyError' });
  });
  await expect(store.lookUp([digestOf('a')])).rejects.toMatchObject({ reason: 'noperm' });
  await expect(store.changesSince('5-0')).rejects.toMatchObject({ reason: 'noperm' });
});

test('all keys of a call are looked up by one command', async () => {
  const { store, sent } = storeOf(() => []);
  await store.lookUp(['a', 'b', 'c'].map(digestOf));
  expect(sent.map(({ name, args }) => [name, args[1]])).toEqual([['eval', 3]]);
});
