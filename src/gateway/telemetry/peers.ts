/** What gateways share through Redis, besides counts. */
import { causeText } from './cause-text.ts';
import type { TelemetryContext } from './context.ts';
import { CAUSE, type LogLines, ONE_A_MINUTE, RUN_CHECK } from './log/log-line.ts';

export const PEER_LINES = {
  salts_not_shared: {
    level: 'error',
    message:
      'the salts are not in Redis: until they are, each gateway counts addresses, users and header values by itself',
    fields: { cause: CAUSE },
    meaning: `Redis is down or full, or its account may not write: ${RUN_CHECK}.`,
    atMost: ONE_A_MINUTE,
  },
  others_unheard: {
    level: 'warn',
    message:
      'messages from other gateways do not arrive: until they do, denials are not cached, and overrides apply seconds later',
    fields: { cause: CAUSE },
    meaning: `Redis is down, or its account may not subscribe: ${RUN_CHECK}.`,
    atMost: ONE_A_MINUTE,
  },
  heartbeat_lost: {
    level: 'warn',
    message:
      'Redis did not accept the heartbeat: if Redis goes down, gateways may not know how many of them share a limit',
    fields: { cause: CAUSE },
    meaning: `A line now and then means that Redis answered late. If the lines go on, ${RUN_CHECK}.`,
    atMost: ONE_A_MINUTE,
  },
  replicas_not_set: {
    level: 'warn',
    message:
      'HEADGATE_REPLICAS is 1, but several gateways count together: while Redis is down, a gateway that starts admits its full limits',
    fields: { gateways: 'how many gateways count together' },
    meaning:
      'For half a minute, Redis has known more than one gateway: set `HEADGATE_REPLICAS` to their number.',
  },
} as const satisfies LogLines;

export function createPeerEvents({ linesOf }: TelemetryContext) {
  const write = linesOf(PEER_LINES);
  return {
    saltsNotShared: (error: Error): void => write('salts_not_shared', { cause: causeText(error) }),
    othersUnheard: (error: unknown): void => write('others_unheard', { cause: causeText(error) }),
    heartbeatLost: (error: unknown): void => write('heartbeat_lost', { cause: causeText(error) }),
    moreThanReplicas: (gateways: number): void => write('replicas_not_set', { gateways }),
  };
}
