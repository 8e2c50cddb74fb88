/** Counts what the new policy file decided, and where the old one decided differently. */
import type { Decision } from '../../../gateway/core/counting/decision.ts';
import type { Limit } from '../../../gateway/core/policy.ts';
import { getOrAdd } from '../maps.ts';
import { type ClientEntry, Sightings } from './client-book.ts';
import type { Decided } from './entry-decider.ts';
import { type Change, type Counts, minuteOf, newCounts } from './result.ts';

export class Tally {
  readonly policies = new Map<string, Counts>();
  readonly limits = new Map<Limit, Counts>();
  /** Requests that were denied before a policy was looked at, by the reason. */
  readonly refusals = new Map<string, Counts>();
  readonly reasons = new Map<string, number>();
  readonly newlyDenied = new Map<string, Change>();
  readonly newlyAllowed = new Map<string, Change>();
  denied = 0;
  /** Denied, or allowed although a policy in shadow mode would deny. */
  deniedWithShadow = 0;
  readonly #sightings = new Sightings();

  add({ decision, wouldDeny, applied, counted, client }: Decided, atMs: number): void {
    const { reason } = decision;
    this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + 1);
    client.requests++;
    for (const { name } of applied)
      this.#addRequest(getOrAdd(this.policies, name, newCounts), client, atMs);
    for (const [i, { source }] of counted.entries()) {
      // A client that is counted under several partitions of one limit is one client.
      if (source === counted[i - 1]?.source) continue;
      this.#addRequest(this.#limit(source), client, atMs);
    }
    for (const each of wouldDeny) this.#addDenial(each, client, atMs);
    const isDenied = decision.verdict === 'deny';
    if (!isDenied && wouldDeny.length === 0) return;
    client.deniedWithShadow++;
    this.deniedWithShadow++;
    if (!isDenied) return;
    client.denied++;
    this.denied++;
    this.#addDenial(decision, client, atMs);
  }

  #addDenial({ policy, reason, binding }: Decision, client: ClientEntry, atMs: number): void {
    this.#addDenied(this.policies.get(policy) ?? this.#refused(reason, client, atMs), client, atMs);
    if (binding !== undefined) this.#addDenied(this.#limit(binding.limit), client, atMs);
  }

  #refused(reason: string, client: ClientEntry, atMs: number): Counts {
    const counts = getOrAdd(this.refusals, reason, newCounts);
    this.#addRequest(counts, client, atMs);
    return counts;
  }

  compare(now: Decided, before: Verdicts): void {
    const { client } = now;
    const deniedBy = onlyDeniedBy(now, before);
    const allowedBy = onlyDeniedBy(before, now);
    if (deniedBy !== undefined) {
      client.newlyDenied++;
      this.#addChange(this.newlyDenied, deniedBy, client);
    } else if (allowedBy !== undefined) {
      client.newlyAllowed++;
      this.#addChange(this.newlyAllowed, allowedBy, client);
    }
  }

  #limit(limit: Limit): Counts {
    return getOrAdd(this.limits, limit, newCounts);
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

type Verdicts = Pick<Decided, 'decision' | 'wouldDeny'>;

/**
 * The policy of the first that denies what the second does not: as both files are, or as if policies in shadow mode were
 * enforced. So a policy on trial shows what it would change, and again when it is enforced.
 */
function onlyDeniedBy(first: Verdicts, second: Verdicts): string | undefined {
  const isDenied = second.decision.verdict === 'deny';
  if (first.decision.verdict === 'deny') return isDenied ? undefined : first.decision.policy;
  return isDenied || second.wouldDeny.length > 0 ? undefined : first.wouldDeny[0]?.policy;
}
