/** Counts in this process, for one gateway without Redis. */
import { SaltBooks } from '../salts/salt-books.ts';
import type { MemoryStore } from '../stores/memory/memory-store.ts';
import { MemoryOverrideStore } from '../stores/override-store.ts';
import type { StoreEvents } from '../telemetry/events/store-events.ts';
import type { Backend, BackendEvents } from './backend.ts';

/** How often the metric of active windows is updated. */
const SAMPLE_MS = 1_000;

export interface MemoryBackendOptions {
  readonly memory: MemoryStore;
  readonly events: BackendEvents;
  readonly telemetry: Pick<StoreEvents, 'windowsCounted'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export function inMemory({ memory, events, telemetry, now }: MemoryBackendOptions): Backend {
  const sampling = setInterval(() => telemetry.windowsCounted(memory.size), SAMPLE_MS).unref();
  return {
    store: memory,
    reader: memory,
    overrideStore: new MemoryOverrideStore(now),
    queryAll: async (query) => ({ answers: [await events.answerQuery(query)], asked: 1 }),
    stats: async () => ({
      store: 'memory',
      gateways: 1,
      keyspace: { activeWindows: memory.size, sampledKeys: memory.size, isExact: true },
      servers: [],
    }),
    version: async () => undefined,
    salts: new SaltBooks(),
    place: () => ({ count: 1, rank: 0 }),
    async connect(onContact) {
      await onContact();
      return 'counts';
    },
    close: async () => clearInterval(sampling),
  };
}
