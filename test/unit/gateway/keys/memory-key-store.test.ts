import { describe, expect, test } from 'vitest';
import { MemoryKeyStore } from '../../../../src/gateway/keys/memory-key-store.ts';
import { describeKeyStore } from '../../../contract/key-store.contract.ts';

describe('the store of keys in memory', () => {
  describeKeyStore(async () => new MemoryKeyStore());

  test('is changed by nobody else', async () => {
    const store = new MemoryKeyStore();
    const { version } = await store.changesSince();
    expect(await store.changesSince()).toEqual({ version, digests: [] });
  });
});
