import { z } from 'zod';
import { MAX_SETTLE_WITHIN_MS } from '../../core/counting/settlement.ts';
import { parseDuration } from '../rate.ts';
import { holds } from '../refinement.ts';
import { setting } from './setting.ts';

/** How requests are charged what they turned out to cost. */
export const SETTLEMENT_SETTINGS = {
  settleKeys: setting(
    'HEADGATE_SETTLE_KEYS',
    'Keys that sign settle tokens. The first one signs. To replace it, set the new one before the old one, and remove the old one once its tokens have ended. All gateways need the same keys.',
    {
      expected:
        'at least 32 letters, digits or punctuation marks, without spaces; two are separated by a comma',
      schema: z
        .string()
        .regex(/^[!-+\--~]{32,256}(,[!-+\--~]{32,256})?$/)
        .transform((list) => list.split(',')),
      fallback: [] as readonly string[],
      fallbackWords:
        'none: gateways share one through Redis, or derive it from `HEADGATE_IP_SALT_SECRET`',
      isSecret: true,
    },
  ),
  settleWithinMs: setting(
    'HEADGATE_SETTLE_WITHIN',
    'How long after a request arrived its outcome can be reported. Later, its reservation stays.',
    {
      expected: 'a duration of at most 1d, such as 15min',
      schema: z.string().transform(holds(parseDuration)).pipe(z.number().max(MAX_SETTLE_WITHIN_MS)),
      fallback: 900_000,
      fallbackWords: '`15min`',
    },
  ),
};
