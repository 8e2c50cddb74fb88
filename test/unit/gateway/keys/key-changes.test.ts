import { expect, test, vi } from 'vitest';
import { StoreError } from '../../../../src/gateway/core/counting/store.ts';
import { KeyChanges } from '../../../../src/gateway/keys/key-changes.ts';
import type { ChangedKeys } from '../../../../src/gateway/keys/key-store.ts';

function setUp() {
  const reads: ((changes: ChangedKeys | Error) => void)[] = [];
  const changesSince = vi.fn(
    (_version: string | undefined) =>
      new Promise<ChangedKeys>((resolve, reject) => {
        reads.push((changes) => (changes instanceof Error ? reject(changes) : resolve(changes)));
      }),
  );
  const onChanged = vi.fn();
  const changes = new KeyChanges({ store: { changesSince }, onChanged });
  const read = async (answer: ChangedKeys) => {
    const done = changes.refresh();
    reads.shift()?.(answer);
    await done;
  };
  return { changes, changesSince, onChanged, reads, read };
}

test('the first read says that any key may have changed, later ones which', async () => {
  const { read, changesSince, onChanged } = setUp();
  await read({ version: '1', digests: undefined });
  await read({ version: '1', digests: [] });
  await read({ version: '3', digests: ['a', 'b'] });
  await read({ version: '3', digests: [] });
  expect(changesSince.mock.calls).toEqual([[undefined], ['1'], ['1'], ['3']]);
  expect(onChanged.mock.calls).toEqual([[undefined], [['a', 'b']]]);
});

test('what is announced during a read is read after it, once', async () => {
  const { changes, changesSince, reads } = setUp();
  const asked = [changes.refresh(), changes.refresh(), changes.refresh()];
  expect(changesSince).toHaveBeenCalledTimes(1);
  reads.shift()?.({ version: '1', digests: undefined });
  await vi.waitFor(() => expect(changesSince).toHaveBeenCalledTimes(2));
  reads.shift()?.({ version: '2', digests: ['a'] });
  await Promise.all(asked);
  expect(changesSince.mock.calls).toEqual([[undefined], ['1']]);
});

test('the read after one that failed makes up for it', async () => {
  const { changes, read, changesSince, onChanged, reads } = setUp();
  await read({ version: '1', digests: undefined });
  const failing = changes.refresh();
  reads.shift()?.(new StoreError('timeout', 'late'));
  await expect(failing).rejects.toThrow('late');
  await read({ version: '2', digests: ['a'] });
  expect(changesSince.mock.calls).toEqual([[undefined], ['1'], ['1']]);
  expect(onChanged.mock.calls).toEqual([[undefined], [['a']]]);
});
