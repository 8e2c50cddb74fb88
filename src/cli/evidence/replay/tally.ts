/** Counts what the new policy file decided, and where the old one decided differently. */
import type { Decision } from '../../../gateway/core/counting/decision.ts';
import type { LimitDescriptor } from '../../../gateway/core/counting/descriptor.ts';
import type { Policy } from '../../../gateway/core/policy.ts';
import type { ClientEntry, Sightings } from './client-book.ts';
import { type Change, type Counts, countsOf, minuteOf } from './result.ts';

export class Tally {
  readonly policies = new Map<string, Counts>();
  readonly limits = new Map<string, Counts>();
  /** Decisions by `Decision.reason`. */
  readonly reasons = new Map<string, number>();
  /** Denied requests. */
  denied = 0;
  readonly #sightings: Sightings;

  constructor(sightings: Sightings) {
    this.#sightings = sightings;
  }

  /** `applied`: the policies that apply to the request; `counted`: what it was counted against. */
  add({ decision, applied, counted }: Decided, client: ClientEntry, atMs: number): void {
    const { reason } = decision;
    this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + 1);
    client.requests++;
    for (const { name } of applied) this.#addRequest(countsOf(this.policies, name), client, atMs);
    for (const [i, { source }] of counted.entries()) {
      // A client that is counted under several partitions of one limit is one client.
      if (source.label === counted[i - 1]?.source.label) continue;
      this.#addRequest(countsOf(this.limits, source.label), client, atMs);
    }
    if (decision.verdict === 'allow') return;
    client.denied++;
    this.denied++;
    this.addDenial(decision, client, atMs);
  }

  /** A denial, or one that a policy in shadow mode would have given. */
  addDenial({ policy, binding }: Decision, client: ClientEntry, atMs: number): void {
    // A denial that no policy gave, for a malformed path or a blocked client, has its reason only.
    const counts = this.policies.get(policy);
    if (counts !== undefined) this.#addDenied(counts, client, atMs);
    if (binding !== undefined)
      this.#addDenied(countsOf(this.limits, binding.limit.label), client, atMs);
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
}

export interface Decided {
  readonly decision: Decision;
  /** Of the client. It changes with the salts. */
  readonly partition: string;
  readonly applied: readonly Policy[];
  readonly counted: readonly LimitDescriptor[];
}

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
