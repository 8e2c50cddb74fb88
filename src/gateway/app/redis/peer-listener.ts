import type { DenialCache } from '../../stores/denial-cache.ts';
import {
  allowance,
  atMostEvery,
  KEYS_CHANNEL,
  keysIn,
  listenTo,
  OVERRIDES_CHANNEL,
  RESET_CHANNEL,
  SALTS_CHANNEL,
} from '../../stores/redis/channels.ts';
import type { RedisClient } from '../../stores/redis/client.ts';
import type { PeerGateways } from '../../stores/redis/peers.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { BackendEvents } from '../backend.ts';

/** Anyone who may publish on the channels can send messages, so the work for them is limited. */
const OVERRIDES_READ_EVERY_MS = 100;
const KEYS_READ_EVERY_MS = 100;
const SALTS_RESTORED_EVERY_MS = 100;
/** Every reset clears the denial cache, even if its message is not read. */
const RESETS_READ_PER_SECOND = 50;

export interface PeerListenerOptions {
  readonly subscriber: RedisClient;
  readonly gateways: PeerGateways;
  readonly denialCache: DenialCache | undefined;
  readonly restoreSalts: () => Promise<void>;
  readonly events: Pick<BackendEvents, 'onReset' | 'onOverridesChanged' | 'onKeysChanged'>;
  readonly telemetry: Pick<Telemetry['peers'], 'othersUnheard'>;
}

export function listenToPeers(options: PeerListenerOptions): void {
  listenForResets(options);
  listenForOthers(options);
}

/** Cached denials are only safe while resets arrive. */
function listenForResets({ subscriber, denialCache, events, telemetry }: PeerListenerOptions) {
  const mayRead = allowance(RESETS_READ_PER_SECOND);
  listenTo([RESET_CHANNEL], subscriber, {
    onListening: () => denialCache?.enable(),
    onDeaf(reason) {
      denialCache?.disable();
      if (reason !== undefined) telemetry.othersUnheard(reason);
    },
    onMessage(message) {
      denialCache?.forget();
      if (mayRead()) events.onReset(keysIn(message));
    },
  });
}

function listenForOthers(options: PeerListenerOptions) {
  const { subscriber, gateways, restoreSalts, events, telemetry } = options;
  const readOverrides = atMostEvery(OVERRIDES_READ_EVERY_MS, events.onOverridesChanged);
  const readKeys = atMostEvery(KEYS_READ_EVERY_MS, events.onKeysChanged);
  const restore = atMostEvery(SALTS_RESTORED_EVERY_MS, () => {
    // The next refresh meets the failure again and reports it.
    restoreSalts().catch(() => {});
  });
  const channels = [OVERRIDES_CHANNEL, KEYS_CHANNEL, SALTS_CHANNEL, ...gateways.channels];
  listenTo(channels, subscriber, {
    // Both may have changed before the channels were heard.
    onListening() {
      readOverrides();
      readKeys();
    },
    onDeaf(reason) {
      if (reason !== undefined) telemetry.othersUnheard(reason);
    },
    onMessage(message, channel) {
      if (channel === OVERRIDES_CHANNEL) readOverrides();
      else if (channel === KEYS_CHANNEL) readKeys();
      else if (channel === SALTS_CHANNEL) restore();
      else void gateways.onMessage(channel, message);
    },
  });
}
