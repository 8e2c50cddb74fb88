/** Sums up the requests of one client. */
import { dayOf } from './peaks.ts';
import { ASSET, BOT_AGENT, CLIENT_ERROR } from './request-signs.ts';
import { type Behaviour, MANY_AGENTS } from './strata.ts';

const HOUR_MS = 3_600_000;

/** One request after the other, in order of time. `reset` before the next client. */
export class BehaviourSums {
  #requests = 0;
  #clientErrors = 0;
  #assets = 0;
  #botAgents = 0;
  #agents: number[] = [];
  #lastMs = 0;
  #day = -1;
  #hours = 0;
  #activeHours = 0;
  /** Of the gaps (B. P. Welford, 1962). */
  #mean = 0;
  #squares = 0;

  reset(): void {
    this.#requests = 0;
    this.#clientErrors = 0;
    this.#assets = 0;
    this.#botAgents = 0;
    this.#agents = [];
    this.#day = -1;
    this.#hours = 0;
    this.#activeHours = 0;
    this.#mean = 0;
    this.#squares = 0;
  }

  add(timeMs: number, signs: number, agentHash: number): void {
    if (this.#requests > 0) this.#addGap(timeMs - this.#lastMs);
    this.#lastMs = timeMs;
    this.#requests++;
    if ((signs & CLIENT_ERROR) !== 0) this.#clientErrors++;
    if ((signs & ASSET) !== 0) this.#assets++;
    if ((signs & BOT_AGENT) !== 0) this.#botAgents++;
    if (this.#agents.length < MANY_AGENTS && !this.#agents.includes(agentHash)) {
      this.#agents.push(agentHash);
    }
    this.#addHour(timeMs);
  }

  behaviour(isAddress: boolean): Behaviour {
    const gaps = this.#requests - 1;
    const deviation = gaps > 1 ? Math.sqrt(this.#squares / (gaps - 1)) : Number.POSITIVE_INFINITY;
    return {
      requests: this.#requests,
      clientErrors: this.#clientErrors,
      assets: this.#assets,
      botAgents: this.#botAgents,
      agents: this.#agents.length,
      isAddress,
      activeHours: this.#activeHours,
      gapVariation: this.#mean === 0 ? Number.POSITIVE_INFINITY : deviation / this.#mean,
    };
  }

  #addGap(gapMs: number): void {
    const before = gapMs - this.#mean;
    this.#mean += before / this.#requests;
    this.#squares += before * (gapMs - this.#mean);
  }

  #addHour(timeMs: number): void {
    const day = dayOf(timeMs);
    if (day !== this.#day) {
      this.#day = day;
      this.#hours = 0;
    }
    this.#hours |= 1 << (Math.floor(timeMs / HOUR_MS) % 24);
    this.#activeHours = Math.max(this.#activeHours, bitsIn(this.#hours));
  }
}

function bitsIn(word: number): number {
  let bits = 0;
  for (let rest = word; rest !== 0; rest &= rest - 1) bits++;
  return bits;
}
