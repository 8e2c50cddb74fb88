/** Counts the requests that two policy files decide differently. */
import type { Decision } from '../../core/decision.ts';
import { type ClientEntry, isFirst } from './client-book.ts';
import type { Change } from './result.ts';

export class Difference {
  /** By the name of the policy that denies: the new file's, and the old file's. */
  readonly newlyDenied = new Map<string, Change>();
  readonly newlyAllowed = new Map<string, Change>();

  add(now: Decision, before: Decision, client: ClientEntry): void {
    if (now.verdict === before.verdict) return;
    if (now.verdict === 'deny') {
      client.newlyDenied++;
      addChange(this.newlyDenied, now.policy, client);
    } else {
      client.newlyAllowed++;
      addChange(this.newlyAllowed, before.policy, client);
    }
  }
}

function addChange(changes: Map<string, Change>, policy: string, client: ClientEntry): void {
  let change = changes.get(policy);
  if (change === undefined) {
    change = { requests: 0, clients: 0 };
    changes.set(policy, change);
  }
  change.requests++;
  if (isFirst(client, change)) change.clients++;
}
