/**
 * Which client was denied and why: a line per denial, and of one client at one policy no more than one a second, with the
 * number of those that were left out. Who hammers fills no log.
 */
import { partitionOf } from '../core/descriptor.ts';
import { answeredFields } from './answered.ts';
import type { DenialTold, DeniedClient } from './denied-clients.ts';

export interface DenialLine {
  readonly decision_id: string;
  readonly policy: string;
  readonly limit: string | undefined;
  readonly reason: string;
  readonly mode: string;
  readonly identity: string;
  readonly client: string;
  /** What it came as, where that is made up: a key that nobody lists. */
  readonly came_as: string | undefined;
  /** Whose share was used up, where that is not the client's own. */
  readonly counted: string | undefined;
  readonly retry_after_ms: number | undefined;
  /** Undefined for what was not answered so: a policy in shadow. */
  readonly dialect: string | undefined;
  readonly duration_ms: number | undefined;
  /** Denials since the line before this one. */
  readonly suppressed: number;
}

export interface DenialLogOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly write: (line: DenialLine) => void;
}

const EVERY_MS = 1_000;

export class DenialLog {
  readonly #options: DenialLogOptions;
  /** Those of whom something was left out, and nothing came after. */
  readonly #pending = new Set<DeniedClient>();

  constructor(options: DenialLogOptions) {
    this.#options = options;
  }

  /** After a denial of this client. */
  add(client: DeniedClient): void {
    if (this.#options.now() - client.toldMs >= EVERY_MS) {
      this.#tell(client, client.untold);
      return;
    }
    client.untold++;
    this.#pending.add(client);
  }

  /** Tells of what was left out and nothing came after. To be called every second or so. */
  flush(): void {
    const nowMs = this.#options.now();
    for (const client of this.#pending) {
      if (nowMs - client.toldMs >= EVERY_MS) this.conclude(client);
    }
  }

  /** Tells of what was left out of one client, who is forgotten or whose second is over. */
  conclude(client: DeniedClient): void {
    if (this.#pending.has(client)) this.#tell(client, client.untold - 1);
  }

  /** At the end. */
  close(): void {
    for (const client of this.#pending) this.conclude(client);
  }

  #tell(client: DeniedClient, suppressed: number): void {
    this.#pending.delete(client);
    client.toldMs = this.#options.now();
    client.untold = 0;
    if (client.last !== undefined) this.#options.write(lineOf(client, client.last, suppressed));
  }
}

const NOT_ANSWERED = { dialect: undefined, duration_ms: undefined };

function lineOf(
  { client }: DeniedClient,
  { decision, denial, answered }: DenialTold,
  suppressed: number,
): DenialLine {
  const { policy, reason, mode, binding } = decision;
  const counted = binding && partitionOf(binding.key);
  return {
    decision_id: denial.id,
    policy,
    limit: binding?.limit.label,
    reason,
    mode,
    identity: denial.identity,
    client,
    came_as: denial.client === client ? undefined : denial.client,
    counted: counted === client ? undefined : counted,
    retry_after_ms: binding?.state.retryAfterMs,
    ...(answered === undefined ? NOT_ANSWERED : answeredFields(answered)),
    suppressed,
  };
}
