/** Sorts clients into strata by how they behave. No client is left out, because a limit touches bots and people alike. */
import { ASSET, BOT_AGENT, CLIENT_ERROR } from './request-signs.ts';
import { dayOf } from './windows.ts';

export const STRATA = ['ordinary', 'shared_address', 'declared_bot', 'probable_bot'] as const;
export type Stratum = (typeof STRATA)[number];

/** The floor is computed from the other strata: a limit should leave their clients alone. */
export function isBot(stratum: Stratum): boolean {
  return stratum === 'declared_bot' || stratum === 'probable_bot';
}

/** One person has a few devices. Behind an address with this many user agents are several. */
const MANY_AGENTS = 5;
const ENOUGH = 20;
const ENOUGH_PAGES = 50;
const MANY_ERRORS = 0.5;
const SOME_ERRORS = 0.1;
const LONG_DAY_HOURS = 18;
const REGULAR = 0.1;
/** With a smaller share of assets in the log, clients without assets are usual. */
const MANY_ASSETS = 0.2;

/** `assetShare`: of all requests of the log. */
export function stratumOf(behaviour: Behaviour, isAddress: boolean, assetShare: number): Stratum {
  const { requests, botAgents, agents } = behaviour;
  if (2 * botAgents > requests) return 'declared_bot';
  const isShared = isAddress && agents.length >= MANY_AGENTS;
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

const HOUR_MS = 3_600_000;

/** Sums up the requests of one client, which come in order of time. */
export class Behaviour {
  requests = 0;
  clientErrors = 0;
  assets = 0;
  botAgents = 0;
  readonly agents: number[] = [];
  activeHours = 0;
  #lastMs = 0;
  #day = -1;
  #hours = 0;
  /** The mean and the squares of the gaps follow B. P. Welford (1962). */
  #mean = 0;
  #squares = 0;

  add(timeMs: number, signs: number, agentHash: number): void {
    if (this.requests > 0) this.#addGap(timeMs - this.#lastMs);
    this.#lastMs = timeMs;
    this.requests++;
    if ((signs & CLIENT_ERROR) !== 0) this.clientErrors++;
    if ((signs & ASSET) !== 0) this.assets++;
    if ((signs & BOT_AGENT) !== 0) this.botAgents++;
    if (this.agents.length < MANY_AGENTS && !this.agents.includes(agentHash)) {
      this.agents.push(agentHash);
    }
    this.#addHour(timeMs);
  }

  get gapVariation(): number {
    const gaps = this.requests - 1;
    if (this.#mean === 0 || gaps < 2) return Number.POSITIVE_INFINITY;
    return Math.sqrt(this.#squares / (gaps - 1)) / this.#mean;
  }

  #addGap(gapMs: number): void {
    const before = gapMs - this.#mean;
    this.#mean += before / this.requests;
    this.#squares += before * (gapMs - this.#mean);
  }

  #addHour(timeMs: number): void {
    const day = dayOf(timeMs);
    if (day !== this.#day) {
      this.#day = day;
      this.#hours = 0;
    }
    this.#hours |= 1 << (Math.floor(timeMs / HOUR_MS) % 24);
    this.activeHours = Math.max(this.activeHours, bitsIn(this.#hours));
  }
}

function bitsIn(word: number): number {
  let bits = 0;
  for (let rest = word; rest !== 0; rest &= rest - 1) bits++;
  return bits;
}
