/** Counts reservations and settlements by policy, and remembers which policies wait for the report of an outcome. */

/** Without an outcome for so long, milliseconds, a policy is overdue. Requests seldom take longer. */
const OVERDUE_AFTER_MS = 300_000;
/** Once a channel has worked, single requests whose outcome nobody reports are no sign that it is cut off. */
const MOST_UNREPORTED = 10;

/** Results of tokens that say nothing about a channel that works: anybody can send the first two. */
const UNHEARD: ReadonlySet<string> = new Set(['malformed', 'forged', 'ended', 'unknown_limit']);

const NO_POLICY = 'none';

interface Policy {
  reservations: number;
  /** By channel and result. */
  readonly settlements: Map<string, Map<string, number>>;
  /** Reservations since the last outcome, and when the first of them came. */
  unreported: number;
  sinceMs: number;
  /** When the last outcome came to this gateway, milliseconds since the epoch. */
  lastMs: number | undefined;
}

export interface OverduePolicy {
  readonly policy: string;
  readonly sinceMs: number;
}

export class ReportedOutcomes {
  readonly #byPolicy = new Map<string, Policy>();

  reserved(policy: string, nowMs: number): void {
    const found = this.#of(policy);
    found.reservations++;
    if (found.unreported === 0) found.sinceMs = nowMs;
    found.unreported++;
  }

  counted(policy: string, channel: string, result: string): void {
    const { settlements } = this.#of(policy);
    const results = settlements.get(channel) ?? new Map<string, number>();
    settlements.set(channel, results.set(result, (results.get(result) ?? 0) + 1));
  }

  settled(policy: string, result: string, nowMs: number): void {
    if (policy !== NO_POLICY && !UNHEARD.has(result)) this.heard(policy, nowMs);
  }

  /** An outcome of this policy was reported, to this gateway or another one. */
  heard(policy: string, atMs: number): void {
    const found = this.#of(policy);
    found.lastMs = Math.max(found.lastMs ?? 0, atMs);
    if (atMs >= found.sinceMs) found.unreported = 0;
  }

  /** `lifeMs`: how long a token lasts. */
  overdue(nowMs: number, lifeMs: number): OverduePolicy[] {
    const beforeMs = nowMs - Math.min(OVERDUE_AFTER_MS, lifeMs);
    return [...this.#byPolicy].flatMap(([policy, { unreported, sinceMs, lastMs }]) => {
      const isWaiting = unreported > (lastMs === undefined ? 0 : MOST_UNREPORTED);
      return isWaiting && sinceMs <= beforeMs ? { policy, sinceMs } : [];
    });
  }

  /** When the last outcome of each policy came, milliseconds since the epoch. */
  latest(): { readonly policy: string; readonly lastMs: number }[] {
    return [...this.#byPolicy].flatMap(([policy, { lastMs }]) =>
      lastMs === undefined ? [] : { policy, lastMs },
    );
  }

  *reservations(): Generator<[{ policy: string }, number]> {
    for (const [policy, { reservations }] of this.#byPolicy) {
      if (reservations > 0) yield [{ policy }, reservations];
    }
  }

  *settlements(): Generator<[{ policy: string; channel: string; result: string }, number]> {
    for (const [policy, { settlements }] of this.#byPolicy) {
      for (const [channel, results] of settlements) {
        for (const [result, count] of results) yield [{ policy, channel, result }, count];
      }
    }
  }

  #of(policy: string): Policy {
    let found = this.#byPolicy.get(policy);
    if (found === undefined) {
      const settlements = new Map();
      found = { reservations: 0, settlements, unreported: 0, sinceMs: 0, lastMs: undefined };
      this.#byPolicy.set(policy, found);
    }
    return found;
  }
}
