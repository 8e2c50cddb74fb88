/** Sorts clients into strata by how they behave. No client is left out, because a limit touches bots and people alike. */
import { APP_AGENT, ASSET, BOT_AGENT, BROWSER_AGENT, CLIENT_ERROR } from './request-signs.ts';
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
const MANY_PAGES = 500;
const SHORT_ATTACK = 5;
const NEARLY_ALL_ERRORS = 0.9;
const MANY_ERRORS = 0.5;
const SOME_ERRORS = 0.1;
const LONG_DAY_HOURS = 18;
const REGULAR = 0.1;
/** With a smaller share of assets in the log, browsers without assets are usual. */
const MANY_ASSETS = 0.2;

/** `assetShare`: of the requests of all browsers. */
export function stratumOf(behaviour: Behaviour, isAddress: boolean, assetShare: number): Stratum {
  const { requests, botAgents, agents } = behaviour;
  if (2 * botAgents > requests) return 'declared_bot';
  const isShared = isAddress && agents.length >= MANY_AGENTS;
  const lacksAssets = assetShare >= MANY_ASSETS && isBrowserWithoutAssets(behaviour, isShared);
  if (lacksAssets || isProbableBot(behaviour, isShared)) return 'probable_bot';
  return isShared ? 'shared_address' : 'ordinary';
}

function isProbableBot(
  { requests, clientErrors, appAgents, activeHours, gapVariation }: Behaviour,
  isShared: boolean,
): boolean {
  const errors = clientErrors / requests;
  // Nothing but errors is no visit of a person, however few they are.
  if (errors === 1 || (requests >= SHORT_ATTACK && errors >= NEARLY_ALL_ERRORS)) return true;
  if (requests < ENOUGH) return false;
  if (errors >= MANY_ERRORS) return true;
  // Many people together are awake all day, and apps poll regularly, day and night.
  if (isShared || 2 * appAgents > requests) return false;
  return activeHours > LONG_DAY_HOURS || gapVariation < REGULAR;
}

/** A person may have all assets in the browser's cache for a while. */
function isBrowserWithoutAssets(
  { requests, browserAgents, assets, clientErrors }: Behaviour,
  isShared: boolean,
): boolean {
  if (assets > 0 || requests < ENOUGH_PAGES || 2 * browserAgents <= requests) return false;
  return isShared || requests >= MANY_PAGES || clientErrors >= SOME_ERRORS * requests;
}

const HOUR_MS = 3_600_000;

/** Sums up the requests of one client, which come in order of time. */
export class Behaviour {
  requests = 0;
  clientErrors = 0;
  assets = 0;
  botAgents = 0;
  appAgents = 0;
  browserAgents = 0;
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
    if ((signs & APP_AGENT) !== 0) this.appAgents++;
    if ((signs & BROWSER_AGENT) !== 0) this.browserAgents++;
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
