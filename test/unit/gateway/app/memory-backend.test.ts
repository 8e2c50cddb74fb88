import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { inMemory } from '../../../../src/gateway/app/memory-backend.ts';
import { OpenResources } from '../../../../src/gateway/app/open-resources.ts';
import { MemoryStore } from '../../../../src/gateway/stores/memory/memory-store.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function setUp() {
  const memory = new MemoryStore({ now: Date.now, maxKeys: 10 });
  const windowsCounted = vi.fn();
  const resources = new OpenResources();
  const backend = inMemory({
    memory,
    events: {
      onReset: () => {},
      onOverridesChanged: () => {},
      onKeysChanged: () => {},
      onUnsettled: () => {},
      replyTo: async (query) => ({ echo: query }),
    },
    telemetry: { windowsCounted },
    now: Date.now,
    resources,
  });
  return { backend, resources, memory, windowsCounted };
}

test('a gateway without Redis counts at once, and is the only one', async () => {
  const { backend, memory } = setUp();
  const onContact = vi.fn(async () => {});
  expect(await backend.connect(onContact)).toBe('counts');
  expect(onContact).toHaveBeenCalledOnce();
  expect(backend.place()).toEqual({ count: 1, rank: 0 });
  expect(backend.store).toBe(memory);
  expect(await backend.queryAll('top')).toEqual({ replies: [{ echo: 'top' }], queried: 1 });
  expect(await backend.stats()).toEqual({
    store: 'memory',
    keyspace: { activeWindows: 0, sampledKeys: 0, isExact: true },
    servers: [],
  });
});

test('the metric of active windows is updated every second until it is closed', async () => {
  const { resources, windowsCounted } = setUp();
  vi.advanceTimersByTime(2_000);
  expect(windowsCounted.mock.calls).toEqual([[0], [0]]);
  await resources.close();
  vi.advanceTimersByTime(10_000);
  expect(windowsCounted).toHaveBeenCalledTimes(2);
});
