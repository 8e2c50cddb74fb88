/** How a replay decides the entries of a log. */
import type { CheckRequest } from '../../../gateway/core/check-request.ts';
import { isAddress } from '../../../gateway/core/identity/partition.ts';
import type { SaltSource } from '../../../gateway/core/identity/salts.ts';
import type { PolicySet } from '../../../gateway/core/matching/policy-set.ts';
import type { PolicyModes } from '../../../gateway/core/overrides.ts';
import type { Limit } from '../../../gateway/core/policy.ts';
import type { LogEntry } from '../formats/log-format.ts';
import { KEY_NAME, type LogClient } from './client-address.ts';
import type { ClientBook } from './client-book.ts';
import { type CheckedRequest, Decider } from './decider.ts';
import type { LogClients } from './log-clients.ts';

export interface EntryDeciderOptions {
  readonly policies: PolicySet;
  readonly modes: PolicyModes;
  readonly isEvaluated: (limit: Limit) => boolean;
  readonly clients: LogClients;
  readonly book: ClientBook;
}

export interface Decided extends Omit<CheckedRequest, 'partition'> {
  /** Its number in the book. */
  readonly client: number;
}

export interface Asked {
  /**
   * Milliseconds since the epoch; they must not go back from one request of a decider to the next. The result is valid
   * until the next request.
   */
  decide(nowMs: number): Decided;
}

export interface EntryDecider {
  /** Takes what deciding needs of an entry and its client. Until it is decided, a log may have many more lines. */
  ask(entry: LogEntry, client: LogClient): Asked;
}

/** Decides by the production check: logs with mapped fields may have keys, users and headers, and policies may refund. */
export class MappedDecider implements EntryDecider {
  readonly #options: EntryDeciderOptions;
  readonly #decider: Decider;

  constructor(options: EntryDeciderOptions, salts: SaltSource) {
    this.#options = options;
    this.#decider = new Decider({ ...options, salts });
  }

  ask(entry: LogEntry, { name }: LogClient): Asked {
    const { clients, book } = this.#options;
    return {
      decide: (nowMs) => {
        // The entry has a client, so it has a request. All of them are the same object.
        const request = clients.requestOf(entry) as CheckRequest;
        const { partition, ...decided } = this.#decider.decide(request, nowMs, entry.status);
        const shown = isAddress(partition) ? name : this.#keyName(partition);
        return { ...decided, client: book.numberOf(shown) };
      },
    };
  }

  /** Keys that the file lists have an id; others, and users, have their partition. */
  #keyName(partition: string): string {
    const listed = this.#options.policies.listedClients.get(partition);
    return listed === undefined ? partition : KEY_NAME + listed.id;
  }
}
