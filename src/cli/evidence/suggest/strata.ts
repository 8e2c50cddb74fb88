/** Sorts clients into strata by how they behave. No client is left out: a limit touches bots and people alike. */

export const STRATA = ['ordinary', 'shared_address', 'declared_bot', 'probable_bot'] as const;
export type Stratum = (typeof STRATA)[number];

/** The floor is computed from the other strata: a limit should leave their clients alone. */
export function isBot(stratum: Stratum): boolean {
  return stratum === 'declared_bot' || stratum === 'probable_bot';
}

/** What the requests of one client have in common. */
export interface Behaviour {
  readonly requests: number;
  readonly clientErrors: number;
  readonly assets: number;
  readonly botAgents: number;
  /** Different user agents, up to MANY_AGENTS. */
  readonly agents: number;
  /** The client is identified by its address. */
  readonly isAddress: boolean;
  /** Of the day with the most of them. */
  readonly activeHours: number;
  /** Standard deviation of the gaps between requests, divided by their mean. */
  readonly gapVariation: number;
}

/** One person has a few devices. Behind an address with this many user agents are several. */
export const MANY_AGENTS = 5;
/** Fewer requests say nothing about a habit. */
const ENOUGH = 20;
const ENOUGH_PAGES = 50;
const MANY_ERRORS = 0.5;
const SOME_ERRORS = 0.1;
const LONG_DAY_HOURS = 18;
const REGULAR = 0.1;
/** Of all requests of the log. With fewer, clients without assets are usual. */
const MANY_ASSETS = 0.2;

/** `assetShare`: of all requests of the log. */
export function stratumOf(behaviour: Behaviour, assetShare: number): Stratum {
  const { requests, botAgents, agents, isAddress } = behaviour;
  if (2 * botAgents > requests) return 'declared_bot';
  const isShared = isAddress && agents >= MANY_AGENTS;
  if (isProbableBot(behaviour, isShared, assetShare)) return 'probable_bot';
  return isShared ? 'shared_address' : 'ordinary';
}

function isProbableBot(
  { requests, clientErrors, assets, activeHours, gapVariation }: Behaviour,
  isShared: boolean,
  assetShare: number,
): boolean {
  if (requests < ENOUGH) return false;
  const errors = clientErrors / requests;
  if (errors >= MANY_ERRORS) return true;
  // Many people together are awake all day, and one of their programs may be regular.
  if (isShared) return false;
  if (activeHours > LONG_DAY_HOURS || gapVariation < REGULAR) return true;
  const lacksAssets = assets === 0 && requests >= ENOUGH_PAGES && assetShare >= MANY_ASSETS;
  return lacksAssets && errors >= SOME_ERRORS;
}
