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

interface Recent {
  readonly loggedMs: number;
  /** The last one that was left out. */
  line: DenialLine | undefined;
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
    const line = lineOf(decision, denial, answered);
    if (recent !== undefined && nowMs - recent.loggedMs < EVERY_MS) {
      recent.suppressed++;
      recent.line = line;
      return;
    }
    this.#options.write(recent === undefined ? line : { ...line, suppressed: recent.suppressed });
    // What was left out is told now: forgetting it must not tell it again.
    if (recent !== undefined) recent.line = undefined;
    this.#recent.set(key, { loggedMs: nowMs, line: undefined, suppressed: 0 });
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

  #conclude({ line, suppressed }: Recent): void {
    if (line !== undefined) this.#options.write({ ...line, suppressed: suppressed - 1 });
  }
}

function lineOf(
  { policy, reason, mode, binding }: Decision,
  { id, client, identity }: Denial,
  answered: Answered | undefined,
): DenialLine {
  return {
    decision_id: id,
    policy,
    limit: binding?.limit.label,
    reason,
    mode,
    identity,
    client,
    retry_after_ms: binding?.state.retryAfterMs,
    ...(answered && {
      dialect: answered.dialect,
      duration_ms: Math.round(answered.durationMs * 1000) / 1000,
    }),
    suppressed: 0,
  };
}
