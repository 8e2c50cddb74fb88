/** Reports on what gateways share through Redis, besides counts. */
import { causeText } from '../cause-text.ts';
import type { TelemetryContext } from '../context.ts';

export interface PeerEvents {
  /** The salts cannot be read from Redis or written there. */
  saltsNotShared(error: Error): void;
  /** Messages from other gateways do not arrive. */
  othersUnheard(reason: unknown): void;
  /** Redis did not accept the heartbeat of this gateway. */
  heartbeatLost(error: unknown): void;
  /** So many gateways count together, and HEADGATE_REPLICAS says that there is one. */
  moreThanReplicas(gateways: number): void;
}

export function createPeerEvents({ write, isFirst }: TelemetryContext): PeerEvents {
  return {
    saltsNotShared(error) {
      if (isFirst('salts')) write('salts_not_shared', { cause: causeText(error) });
    },
    othersUnheard(reason) {
      if (isFirst('others')) write('others_unheard', { cause: causeText(reason) });
    },
    heartbeatLost(error) {
      if (isFirst('heartbeat')) write('heartbeat_lost', { cause: causeText(error) });
    },
    moreThanReplicas: (gateways) => write('replicas_not_set', { gateways }),
  };
}
