/** Counting in this process, for one gateway without Redis. */

import { SaltBooks } from '../salts/salt-books.ts';
import type { MemoryStore } from '../stores/memory/memory-store.ts';
import { MemoryOverrideStore } from '../stores/override-store.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Backend, BackendEvents } from './backend.ts';

/** How often the windows are counted for the metrics: it costs nothing here. */
const LOOK_MS = 1_000;

export function inMemory(
  store: MemoryStore,
  events: BackendEvents,
  telemetry: Telemetry,
  now: () => number,
): Backend {
  const sampling = setInterval(() => telemetry.windowsCounted(store.size), LOOK_MS).unref();
  return {
    store,
    reader: store,
    overrideStore: new MemoryOverrideStore(now),
    queryAll: async (question) => ({ answers: [await events.answer(question)], asked: 1 }),
    stats: async () => ({
      store: 'memory',
      gateways: 1,
      keyspace: { activeWindows: store.size, sampledKeys: store.size, isExact: true },
      servers: [],
    }),
    salts: new SaltBooks(),
    place: () => ({ count: 1, rank: 0 }),
    async connect(onContact) {
      await onContact();
      return 'counts';
    },
    close: async () => clearInterval(sampling),
  };
}
