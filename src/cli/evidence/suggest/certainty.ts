/** How sure a recommendation is: by the clients that it rests on, and by whom it would deny. */
import type { Measured } from './measure.ts';
import { daysNeeded } from './statistics.ts';
import type { WindowLimit } from './windows.ts';

type Certainty = 'high' | 'fair' | 'low';

interface Evidence {
  readonly nonBotDays: number;
  readonly nonBotClients: number;
  /** A few peaks far above the others were cut. */
  readonly hasOutliers: boolean;
  readonly peaks: readonly Peaks[];
}

interface Peaks {
  readonly windowMs: number;
  readonly p90: number;
  readonly max: number;
}

interface Denials {
  readonly limits: readonly WindowLimit[];
  readonly isRecommended: boolean;
  readonly measured: Measured;
  readonly heldOut: Measured | undefined;
}

/** Client-days of few clients resemble each other. */
const FEW_CLIENTS = 30;
const MANY_CLIENTS = 300;
const MANY_BOTS_SHARE = 0.1;
/** Heavy users send a few times as much as others. */
const FAR_ABOVE = 30;
/** Limits at p99 deny as many. */
const DENIED_SHARE = 0.01;

export function certaintyOf(evidence: Evidence, choices: readonly Denials[]): Certainty {
  const { nonBotDays, nonBotClients, hasOutliers } = evidence;
  const isDoubtful = choices.some((each) => each.isRecommended && isDoubted(each, evidence));
  if (isDoubtful || nonBotDays < daysNeeded(0.99) || nonBotClients < FEW_CLIENTS) return 'low';
  const isMuch = nonBotDays >= daysNeeded(0.999) && nonBotClients >= MANY_CLIENTS;
  return isMuch && !hasOutliers ? 'high' : 'fair';
}

function isDoubted(
  { measured, heldOut, limits }: Denials,
  { nonBotClients, peaks }: Evidence,
): boolean {
  // So many bots by name may be the users of an app.
  const { denied } = measured.declared_bot.clients;
  if (denied >= FEW_CLIENTS && denied >= MANY_BOTS_SHARE * nonBotClients) return true;
  if (heldOut !== undefined && heldOut.ordinary.clients.low > DENIED_SHARE) return true;
  // Limits far above nearly all clients rest on a few, who may be no people.
  return limits.some(({ limit, windowMs }) => {
    const found = peaks.find((each) => each.windowMs === windowMs);
    return found !== undefined && found.max >= FAR_ABOVE * found.p90 && limit >= found.max;
  });
}
