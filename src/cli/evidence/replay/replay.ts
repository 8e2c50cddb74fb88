/**
 * Replays the entries of a log: decides each request by the new policy file and, for comparison, by the old one. With
 * several threads, each has a replay of its own, which sees all entries and decides those of its clients.
 */
import type { Decision } from '../../../gateway/core/counting/decision.ts';
import type { PolicySet } from '../../../gateway/core/matching/policy-set.ts';
import { everyLimit } from '../../../gateway/core/policy.ts';
import type { LogEntry } from '../formats/log-format.ts';
import type { MappedField } from '../log-request.ts';
import { lastingSalts } from '../policies.ts';
import { AddressDecider } from './address-decider.ts';
import { ClientBook } from './client-book.ts';
import { type Asked, type EntryDecider, MappedDecider } from './entry-decider.ts';
import { evaluabilityOf } from './evaluable.ts';
import { byKey } from './limit-rows.ts';
import { LogClients } from './log-clients.ts';
import { Peaks } from './peaks.ts';
import { newFacts, type ReplayResult } from './result.ts';
import { SameSecond } from './same-second.ts';
import { Tally } from './tally.ts';

export interface ReplayOptions {
  readonly policies: PolicySet;
  readonly against: PolicySet | undefined;
  readonly mapping: readonly MappedField[];
  readonly precisionMs: number;
  readonly measuresPeaks: boolean;
  readonly thread: number;
  readonly threads: number;
}

/** What is kept of an entry until it is decided: it is not asked of a thread whose client it is not. */
export interface Kept {
  readonly startMs: number;
  readonly now: Asked | undefined;
  readonly atOnce: Asked | undefined;
  readonly before: Asked | undefined;
}

/** In shorter windows it matters when in a second the requests of that second came. */
const SHORT_WINDOW_MS = 10_000;

export class Replay {
  readonly #options: ReplayOptions;
  readonly #clients: LogClients;
  readonly #clientsBefore: LogClients | undefined;
  readonly #book = new ClientBook();
  readonly #now: EntryDecider;
  readonly #before: EntryDecider | undefined;
  readonly #atOnce: EntryDecider | undefined;
  readonly #sameSecond: SameSecond<Kept> | undefined;
  readonly #tally = new Tally(this.#book);
  readonly #deniedAtOnce = new Map<string, number>();
  readonly #peaks: Peaks | undefined;
  readonly #facts = newFacts();

  constructor(options: ReplayOptions) {
    const { policies, against, mapping, precisionMs, threads } = options;
    this.#options = options;
    if (options.measuresPeaks) this.#peaks = new Peaks();
    const salts = lastingSalts();
    const deciderOf = (set: PolicySet, clients: LogClients, book: ClientBook) => {
      const given = { ...evaluabilityOf(set.policies, mapping), policies: set, clients, book };
      const isSimple = mapping.length === 0 && !set.policies.some((policy) => policy.settles);
      return isSimple ? new AddressDecider(given) : new MappedDecider(given, salts);
    };
    this.#clients = new LogClients(policies, mapping, threads);
    this.#now = deciderOf(policies, this.#clients, this.#book);
    if (against !== undefined) {
      this.#clientsBefore = new LogClients(against, mapping, threads);
      this.#before = deciderOf(against, this.#clientsBefore, new ClientBook());
    }
    if (precisionMs <= 1 || !hasShortWindow(policies)) return;
    this.#atOnce = deciderOf(policies, this.#clients, this.#book);
    this.#sameSecond = new SameSecond<Kept>(precisionMs, (...visit) => this.#decide(...visit));
  }

  /**
   * What to add once the entry's turn has come, or undefined. Call it for every entry, in any order: it counts what the
   * log says.
   */
  keep(entry: LogEntry): Kept | undefined {
    const facts = this.#facts;
    const { startMs } = entry;
    if (!isTime(startMs)) {
      facts.withoutTime++;
      return undefined;
    }
    facts.fromMs = Math.min(facts.fromMs, startMs);
    facts.toMs = Math.max(facts.toMs, startMs);
    if (entry.status === 429) facts.answered429++;
    if (entry.method === 'OPTIONS') facts.ofOptions++;
    if (entry.status === undefined) facts.withoutStatus++;
    if (entry.host === undefined) facts.withoutHost++;
    else facts.withHost++;
    const client = this.#clients.find(entry);
    if (client === undefined) facts.withoutAddress++;
    if (client?.thread !== this.#options.thread) {
      // How many requests a second has depends on all clients.
      return this.#sameSecond && { startMs, now: undefined, atOnce: undefined, before: undefined };
    }
    // The old file may trust other proxies and read other headers.
    const before = this.#clientsBefore?.find(entry);
    return {
      startMs,
      now: this.#now.ask(entry, client),
      atOnce: this.#atOnce?.ask(entry, client),
      before: before && this.#before?.ask(entry, before),
    };
  }

  /** In the order of their starts. */
  add(kept: Kept): void {
    const { startMs } = kept;
    if (this.#sameSecond === undefined) this.#decide(kept, startMs, startMs);
    else this.#sameSecond.add(kept);
  }

  finish(): ReplayResult {
    this.#sameSecond?.flush();
    const { limits, denied, deniedWithShadow, ...tally } = this.#tally;
    const { policies } = this.#options.policies;
    const clients = this.#book;
    return {
      ...tally,
      limits: byKey(policies, limits),
      isUncertain: this.#atOnce !== undefined,
      deniedAtOnce: this.#deniedAtOnce,
      facts: this.#facts,
      peaks: byKey(policies, this.#peaks?.histograms() ?? new Map()),
      clients: {
        all: clients.size,
        deniedRequests: denied,
        deniedRequestsWithShadow: deniedWithShadow,
        denied: clients.affected('denied'),
        deniedWithShadow: clients.affected('deniedWithShadow'),
        newlyDenied: clients.affected('newlyDenied'),
        newlyAllowed: clients.affected('newlyAllowed'),
      },
    };
  }

  #decide(kept: Kept, atMs: number, atOnceMs: number): void {
    const decided = kept.now?.decide(atMs);
    if (decided === undefined) return;
    this.#tally.add(decided, atMs);
    // A refunded request is none of a peak: its limit is about others.
    this.#peaks?.add(decided.charged ?? decided.counted, decided.client, atMs);
    const atOnce = kept.atOnce?.decide(atOnceMs);
    if (atOnce !== undefined) {
      const { decision, wouldDeny } = atOnce;
      if (decision.verdict === 'deny') this.#addAtOnce(decision);
      for (const each of wouldDeny) this.#addAtOnce(each);
    }
    const before = kept.before?.decide(atMs);
    if (before !== undefined) this.#tally.compare(decided, before);
  }

  #addAtOnce({ policy }: Decision): void {
    this.#deniedAtOnce.set(policy, (this.#deniedAtOnce.get(policy) ?? 0) + 1);
  }
}

function hasShortWindow({ policies }: PolicySet): boolean {
  return policies.flatMap(everyLimit).some(({ quota }) => quota.windowMs < SHORT_WINDOW_MS);
}

const END_OF_TIME_MS = Date.UTC(10_000);

/** A duration of a million years gives a start that no calendar has. */
function isTime(ms: number): boolean {
  return ms >= 0 && ms < END_OF_TIME_MS;
}
