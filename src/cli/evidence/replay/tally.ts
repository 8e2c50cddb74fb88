/** Counts what the new policy file decided, and where the old one decided differently. */
import type { Decision } from '../../../gateway/core/counting/decision.ts';
import type { LimitDescriptor } from '../../../gateway/core/counting/descriptor.ts';
import type { Limit } from '../../../gateway/core/policy.ts';
import { getOrAdd } from '../maps.ts';
import { type ClientBook, ClientSet } from './client-book.ts';
import type { Decided } from './entry-decider.ts';
import { type Change, type Counts, MINUTE_MS, type MinuteCounts } from './result.ts';

class ChangeCounter implements Change {
  requests = 0;
  clients = 0;
  readonly #reached = new ClientSet();

  add(client: number): void {
    this.requests++;
    if (this.#reached.add(client)) this.clients++;
  }
}

/** What a policy, a limit or a reason did, and what counting the next request needs. */
export class Counter extends ChangeCounter implements Counts {
  denied = 0;
  deniedClients = 0;
  firstDenialMs = Number.POSITIVE_INFINITY;
  lastDenialMs = Number.NEGATIVE_INFINITY;
  readonly minutes = new Map<number, MinuteCounts>();
  readonly #deniedClients = new ClientSet();
  #minute = Number.NaN;
  #ofMinute: MinuteCounts = [0, 0];

  addRequest(client: number, atMs: number): void {
    this.add(client);
    this.#minuteAt(atMs)[0]++;
  }

  addDenied(client: number, atMs: number): void {
    this.denied++;
    this.#minuteAt(atMs)[1]++;
    this.firstDenialMs = Math.min(this.firstDenialMs, atMs);
    this.lastDenialMs = Math.max(this.lastDenialMs, atMs);
    if (this.#deniedClients.add(client)) this.deniedClients++;
  }

  #minuteAt(atMs: number): MinuteCounts {
    const minute = Math.floor(atMs / MINUTE_MS);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#ofMinute = getOrAdd(this.minutes, minute, () => [0, 0]);
    }
    return this.#ofMinute;
  }
}

export class Tally {
  readonly #book: ClientBook;
  readonly policies = new Map<string, Counter>();
  readonly limits = new Map<Limit, Counter>();
  /** Requests that were denied before a policy was looked at, by the reason. */
  readonly refusals = new Map<string, Counter>();
  readonly reasons = new Map<string, number>();
  readonly newlyDenied = new Map<string, ChangeCounter>();
  readonly newlyAllowed = new Map<string, ChangeCounter>();
  denied = 0;
  /** Denied, or allowed although a policy in shadow mode would deny. */
  deniedWithShadow = 0;

  constructor(book: ClientBook) {
    this.#book = book;
  }

  add({ decision, wouldDeny, applied, counted, client }: Decided, atMs: number): void {
    const { reason } = decision;
    this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + 1);
    this.#book.count(client, 'requests');
    for (const { name } of applied) this.#counter(this.policies, name).addRequest(client, atMs);
    for (let i = 0; i < counted.length; i++) {
      const { source } = counted[i] as LimitDescriptor;
      // A client that is counted under several partitions of one limit is one client.
      if (source === counted[i - 1]?.source) continue;
      this.#counter(this.limits, source).addRequest(client, atMs);
    }
    for (const each of wouldDeny) this.#addDenial(each, client, atMs);
    const isDenied = decision.verdict === 'deny';
    if (!isDenied && wouldDeny.length === 0) return;
    this.#book.count(client, 'deniedWithShadow');
    this.deniedWithShadow++;
    if (!isDenied) return;
    this.#book.count(client, 'denied');
    this.denied++;
    this.#addDenial(decision, client, atMs);
  }

  compare(now: Decided, before: Verdicts): void {
    const { client } = now;
    const deniedBy = onlyDeniedBy(now, before);
    const allowedBy = onlyDeniedBy(before, now);
    if (deniedBy !== undefined) {
      this.#book.count(client, 'newlyDenied');
      this.#addChange(this.newlyDenied, deniedBy, client);
    } else if (allowedBy !== undefined) {
      this.#book.count(client, 'newlyAllowed');
      this.#addChange(this.newlyAllowed, allowedBy, client);
    }
  }

  #addDenial({ policy, reason, binding }: Decision, client: number, atMs: number): void {
    const counter = this.policies.get(policy) ?? this.#refused(reason, client, atMs);
    counter.addDenied(client, atMs);
    if (binding !== undefined) this.#counter(this.limits, binding.limit).addDenied(client, atMs);
  }

  #refused(reason: string, client: number, atMs: number): Counter {
    const counter = this.#counter(this.refusals, reason);
    counter.addRequest(client, atMs);
    return counter;
  }

  #counter<Key>(counters: Map<Key, Counter>, key: Key): Counter {
    return counters.get(key) ?? getOrAdd(counters, key, () => new Counter());
  }

  #addChange(changes: Map<string, ChangeCounter>, policy: string, client: number): void {
    getOrAdd(changes, policy, () => new ChangeCounter()).add(client);
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
