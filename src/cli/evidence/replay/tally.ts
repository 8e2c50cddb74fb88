/** Counts what the new policy file decided, and where the old one decided differently. */
import type { Decision } from '../../../gateway/core/counting/decision.ts';
import { getOrAdd } from '../maps.ts';
import { type ClientEntry, Sightings } from './client-book.ts';
import type { Decided } from './decider.ts';
import { type Change, type Counts, minuteOf, newCounts } from './result.ts';

export class Tally {
  readonly policies = new Map<string, Counts>();
  readonly limits = new Map<string, Counts>();
  readonly reasons = new Map<string, number>();
  readonly newlyDenied = new Map<string, Change>();
  readonly newlyAllowed = new Map<string, Change>();
  denied = 0;
  readonly #sightings = new Sightings();

  add({ decision, wouldDeny, applied, counted }: Decided, client: ClientEntry, atMs: number): void {
    const { reason } = decision;
    this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + 1);
    client.requests++;
    for (const { name } of applied)
      this.#addRequest(getOrAdd(this.policies, name, newCounts), client, atMs);
    for (const [i, { source }] of counted.entries()) {
      // A client that is counted under several partitions of one limit is one client.
      if (source.label === counted[i - 1]?.source.label) continue;
      this.#addRequest(this.#limit(source.label), client, atMs);
    }
    for (const each of wouldDeny) this.#addDenial(each, client, atMs);
    if (decision.verdict === 'allow') return;
    client.denied++;
    this.denied++;
    this.#addDenial(decision, client, atMs);
  }

  #addDenial({ policy, binding }: Decision, client: ClientEntry, atMs: number): void {
    // A denial that no policy gave, for a malformed path or a blocked client, has its reason only.
    const counts = this.policies.get(policy);
    if (counts !== undefined) this.#addDenied(counts, client, atMs);
    if (binding !== undefined) this.#addDenied(this.#limit(binding.limit.label), client, atMs);
  }

  compare(now: Decision, before: Decision, client: ClientEntry): void {
    if (now.verdict === before.verdict) return;
    if (now.verdict === 'deny') {
      client.newlyDenied++;
      this.#addChange(this.newlyDenied, now.policy, client);
    } else {
      client.newlyAllowed++;
      this.#addChange(this.newlyAllowed, before.policy, client);
    }
  }

  #limit(label: string): Counts {
    return getOrAdd(this.limits, label, newCounts);
  }

  #addRequest(counts: Counts, client: ClientEntry, atMs: number): void {
    counts.requests++;
    minuteOf(counts, atMs)[0]++;
    if (this.#sightings.isFirst(client, counts)) counts.clients++;
  }

  #addDenied(counts: Counts, client: ClientEntry, atMs: number): void {
    counts.denied++;
    minuteOf(counts, atMs)[1]++;
    counts.firstDenialMs = Math.min(counts.firstDenialMs, atMs);
    counts.lastDenialMs = Math.max(counts.lastDenialMs, atMs);
    // The minutes stand for the denials, as the counts do for the requests.
    if (this.#sightings.isFirst(client, counts.minutes)) counts.deniedClients++;
  }

  #addChange(changes: Map<string, Change>, policy: string, client: ClientEntry): void {
    const change = getOrAdd(changes, policy, () => ({ requests: 0, clients: 0 }));
    change.requests++;
    if (this.#sightings.isFirst(client, change)) change.clients++;
  }
}
