/** Counts the requests that two policy files decide differently. */
import type { Decision } from '../../../gateway/core/counting/decision.ts';
import type { ClientEntry, Sightings } from './client-book.ts';
import type { Change } from './result.ts';

export class Difference {
  /** By the name of the policy that denies: the new file's, and the old file's. */
  readonly newlyDenied = new Map<string, Change>();
  readonly newlyAllowed = new Map<string, Change>();
  readonly #sightings: Sightings;

  constructor(sightings: Sightings) {
    this.#sightings = sightings;
  }

  add(now: Decision, before: Decision, client: ClientEntry): void {
    if (now.verdict === before.verdict) return;
    if (now.verdict === 'deny') {
      client.newlyDenied++;
      this.#addChange(this.newlyDenied, now.policy, client);
    } else {
      client.newlyAllowed++;
      this.#addChange(this.newlyAllowed, before.policy, client);
    }
  }

  #addChange(changes: Map<string, Change>, policy: string, client: ClientEntry): void {
    let change = changes.get(policy);
    if (change === undefined) {
      change = { requests: 0, clients: 0 };
      changes.set(policy, change);
    }
    change.requests++;
    if (this.#sightings.isFirst(client, change)) change.clients++;
  }
}
