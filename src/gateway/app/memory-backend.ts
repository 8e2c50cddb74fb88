import { MemoryKeyStore } from '../keys/memory-key-store.ts';
import type { MemoryStore } from '../stores/memory/memory-store.ts';
import { MemoryOverrideStore } from '../stores/overrides/override.ts';
import { SaltBooks } from '../stores/salts/salt-sources.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Backend, BackendEvents } from './backend.ts';
import type { GatewayOptions } from './gateway-options.ts';

const SAMPLE_MS = 1_000;

export interface MemoryBackendOptions extends Pick<GatewayOptions, 'now' | 'resources'> {
  readonly memory: MemoryStore;
  readonly events: BackendEvents;
  readonly telemetry: Pick<Telemetry['store'], 'windowsCounted'>;
}

export function inMemory(options: MemoryBackendOptions): Backend {
  const { memory, events, telemetry, now, resources } = options;
  const sample = () => telemetry.windowsCounted(memory.size);
  resources.add(setInterval(sample, SAMPLE_MS).unref(), clearInterval);
  return {
    store: memory,
    reader: memory,
    overrideStore: new MemoryOverrideStore(now),
    keyStore: new MemoryKeyStore(),
    queryAll: async (query) => ({ replies: [await events.replyTo(query)], queried: 1 }),
    stats: async () => ({
      store: 'memory',
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
  };
}
