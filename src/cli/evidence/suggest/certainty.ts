/** How sure a recommendation is: by the clients that it rests on, and by whom it would deny. */
import type { Measured } from './measure.ts';
import { daysNeeded } from './statistics.ts';

type Certainty = 'high' | 'fair' | 'low';

interface Evidence {
  readonly nonBotDays: number;
  readonly nonBotClients: number;
  readonly hasOutliers: boolean;
}

interface Denials {
  readonly isRecommended: boolean;
  readonly measured: Measured;
  readonly heldOut: Measured | undefined;
}

/** Client-days of few clients resemble each other. */
const FEW_CLIENTS = 30;
const MANY_CLIENTS = 300;
const MANY_BOTS_SHARE = 0.1;
/** Limits at p99 deny as many. */
const DENIED_SHARE = 0.01;

export function certaintyOf(
  { nonBotDays, nonBotClients, hasOutliers }: Evidence,
  choices: readonly Denials[],
): Certainty {
  const isDoubtful = choices.some((each) => each.isRecommended && isDoubted(each, nonBotClients));
  if (isDoubtful || nonBotDays < daysNeeded(0.99) || nonBotClients < FEW_CLIENTS) return 'low';
  const isMuch = nonBotDays >= daysNeeded(0.999) && nonBotClients >= MANY_CLIENTS;
  return isMuch && !hasOutliers ? 'high' : 'fair';
}

/** Clients on other days would be denied, or so many bots by name that they may be the users of an app. */
function isDoubted({ measured, heldOut }: Denials, nonBotClients: number): boolean {
  const { denied } = measured.declared_bot.clients;
  const areManyBots = denied >= FEW_CLIENTS && denied >= MANY_BOTS_SHARE * nonBotClients;
  return areManyBots || (heldOut !== undefined && heldOut.ordinary.clients.low > DENIED_SHARE);
}
