import { beforeEach, describe, expect, test } from 'vitest';
import {
  MAX_OVERRIDES,
  MemoryOverrideStore,
  OverrideStoreFull,
} from '../../../../../src/gateway/stores/overrides/override.ts';

describe('the override store of a process', () => {
  const clock = { nowMs: 0 };
  let store: MemoryOverrideStore;
  const override = (about: string, text = 'x', untilMs = 100) => ({ about, text, untilMs });

  beforeEach(() => {
    clock.nowMs = 0;
    store = new MemoryOverrideStore(() => clock.nowMs);
  });

  test('keeps an override until it ends', async () => {
    await store.put(override('a'));
    clock.nowMs = 99;
    expect(await store.read()).toEqual([override('a')]);
    clock.nowMs = 100;
    expect(await store.read()).toEqual([]);
  });

  test('replaces an override about the same', async () => {
    await store.put(override('a'));
    await store.put(override('a', 'y'));
    expect(await store.read()).toEqual([override('a', 'y')]);
  });

  test('keeps the end of a removed override, without its text', async () => {
    await store.put(override('a'));
    expect(await store.remove('a')).toBe(true);
    expect(await store.read()).toEqual([override('a', '')]);
    expect(await store.remove('a')).toBe(false);
    expect(await store.remove('b')).toBe(false);
  });

  test('keeps the note of a removal in place of the text', async () => {
    await store.put(override('a'));
    expect(await store.remove('a', '-a note')).toBe(true);
    expect(await store.read()).toEqual([override('a', '-a note')]);
    expect(await store.remove('a', '-another')).toBe(false);
    await store.restoreLost([override('a')]);
    expect(await store.read()).toEqual([override('a', '-a note')]);
  });

  test('restores lost overrides, but none that was removed or replaced by a newer one', async () => {
    await store.put(override('removed'));
    await store.remove('removed');
    await store.put(override('newer', 'new'));
    await store.restoreLost([override('removed'), override('newer', 'old'), override('lost')]);
    expect(await store.read()).toEqual([
      override('removed', ''),
      override('newer', 'new'),
      override('lost'),
    ]);
  });

  test('is full with so many overrides; removed ones and the one that is replaced do not count', async () => {
    await store.put(override('removed'));
    await store.remove('removed');
    for (let i = 0; i < MAX_OVERRIDES; i++) await store.put(override(`${i}`));
    await expect(store.put(override('more'))).rejects.toThrow(OverrideStoreFull);
    await store.put(override('0', 'replaced'));
    await store.remove('1', '-a note');
    await store.put(override('more'));
  });
});
