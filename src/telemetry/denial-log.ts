/**
 * Which client was denied and why: a line per denial, and of one client at one policy no more than one a second, with the
 * number of those that were left out. Who hammers fills no log.
 */
import { LRUCache } from 'lru-cache';
import type { Decision, Denial } from '../core/decision.ts';

export interface DenialLine {
  readonly decision_id: string;
  readonly policy: string;
  readonly limit: string | undefined;
  readonly reason: string;
  readonly mode: string;
  readonly identity: string;
  readonly client: string;
  readonly retry_after_ms: number | undefined;
  /** Absent for what was not answered so: a policy in shadow. */
  readonly dialect?: string;
  readonly duration_ms?: number;
  /** Denials since the line before this one. */
  readonly suppressed: number;
}

/** How it was answered. */
export interface Answered {
  readonly dialect: string;
  readonly durationMs: number;
}

export interface DenialLogOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly write: (line: DenialLine) => void;
}

/** It becomes a line only when it is told of. */
interface Denied {
  readonly decision: Decision;
  readonly denial: Denial;
  readonly answered: Answered | undefined;
}

interface Recent {
  readonly loggedMs: number;
  /** The last one that was left out. */
  last: Denied | undefined;
  suppressed: number;
}

const EVERY_MS = 1_000;
/** Clients and policies that were denied lately; of more than that, those that are forgotten get a line each. */
const MAX_RECENT = 10_000;

export class DenialLog {
  readonly #options: DenialLogOptions;
  readonly #recent: LRUCache<string, Recent>;

  constructor(options: DenialLogOptions) {
    this.#options = options;
    this.#recent = new LRUCache({ max: MAX_RECENT, dispose: (recent) => this.#conclude(recent) });
  }

  add(decision: Decision, denial: Denial, answered?: Answered): void {
    const key = `${denial.client} ${decision.policy} ${decision.reason}`;
    const nowMs = this.#options.now();
    const recent = this.#recent.get(key);
    const denied = { decision, denial, answered };
    if (recent !== undefined && nowMs - recent.loggedMs < EVERY_MS) {
      recent.suppressed++;
      recent.last = denied;
      return;
    }
    this.#options.write(lineOf(denied, recent?.suppressed ?? 0));
    // What was left out is told now: forgetting it must not tell it again.
    if (recent !== undefined) recent.last = undefined;
    this.#recent.set(key, { loggedMs: nowMs, last: undefined, suppressed: 0 });
  }

  /** Tells of what was left out and nothing came after. To be called every second or so, and at the end. */
  flush(): void {
    const nowMs = this.#options.now();
    for (const [key, recent] of this.#recent.entries()) {
      if (nowMs - recent.loggedMs >= EVERY_MS) this.#recent.delete(key);
    }
  }

  /** At the end. */
  close(): void {
    this.#recent.clear();
  }

  #conclude({ last, suppressed }: Recent): void {
    if (last !== undefined) this.#options.write(lineOf(last, suppressed - 1));
  }
}

function lineOf({ decision, denial, answered }: Denied, suppressed: number): DenialLine {
  const { policy, reason, mode, binding } = decision;
  return {
    decision_id: denial.id,
    policy,
    limit: binding?.limit.label,
    reason,
    mode,
    identity: denial.identity,
    client: denial.client,
    retry_after_ms: binding?.state.retryAfterMs,
    ...(answered && {
      dialect: answered.dialect,
      duration_ms: Math.round(answered.durationMs * 1000) / 1000,
    }),
    suppressed,
  };
}
