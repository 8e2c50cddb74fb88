/** How a replay decides the entries of a log. */

import { isAddress } from '../../../gateway/core/identity/partition.ts';
import type { SaltSource } from '../../../gateway/core/identity/salts.ts';
import type { PolicySet } from '../../../gateway/core/matching/policy-set.ts';
import type { PolicyModes } from '../../../gateway/core/overrides.ts';
import type { Limit } from '../../../gateway/core/policy.ts';
import type { LogEntry } from '../formats/log-format.ts';
import { KEY_NAME } from './client-address.ts';
import type { ClientBook, ClientEntry } from './client-book.ts';
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
  readonly client: ClientEntry;
}

export interface EntryDecider {
  /**
   * Milliseconds since the epoch; they must not go back. Undefined if the log does not say which client sent the request.
   * The result is valid until the next request.
   */
  decide(entry: LogEntry, nowMs: number): Decided | undefined;
}

/** Decides by the production check. A log with mapped fields may have keys, users and headers. */
export class MappedDecider implements EntryDecider {
  readonly #options: EntryDeciderOptions;
  readonly #decider: Decider;

  constructor(options: EntryDeciderOptions, salts: SaltSource) {
    this.#options = options;
    this.#decider = new Decider({ ...options, salts });
  }

  decide(entry: LogEntry, nowMs: number): Decided | undefined {
    const { clients, book } = this.#options;
    const request = clients.requestOf(entry);
    if (request === undefined) return undefined;
    const { partition, ...decided } = this.#decider.decide(request, nowMs);
    const name = isAddress(partition) ? clients.find(entry)?.name : this.#keyName(partition);
    return { ...decided, client: book.entry(name ?? '') };
  }

  /** Keys that the file lists have an id; others, and users, have their partition. */
  #keyName(partition: string): string {
    const listed = this.#options.policies.listedClients.get(partition);
    return listed === undefined ? partition : KEY_NAME + listed.id;
  }
}
