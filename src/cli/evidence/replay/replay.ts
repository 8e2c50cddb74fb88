/**
 * Replays the entries of a log: decides each request by the new policy file and, for comparison, by the old one. With
 * several threads, each has a replay of its own, which sees all entries and decides those of its clients.
 */
import type { Decision } from '../../../gateway/core/counting/decision.ts';
import { isAddress } from '../../../gateway/core/identity/partition.ts';
import type { PolicySet } from '../../../gateway/core/matching/policy-set.ts';
import { everyLimit } from '../../../gateway/core/policy.ts';
import type { LogEntry } from '../formats/log-format.ts';
import { lastingSalts } from '../lasting-salts.ts';
import {
  createLogRequests,
  type LogRequest,
  type LogRequests,
  type MappedField,
} from '../log-request.ts';
import { compileLogClient, KEY_NAME } from './client-address.ts';
import { ClientBook } from './client-book.ts';
import { Decider } from './decider.ts';
import { evaluabilityOf } from './evaluable.ts';
import { byKey } from './limit-rows.ts';
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

/** In shorter windows it matters when in a second the requests of that second came. */
const SHORT_WINDOW_MS = 10_000;

export class Replay {
  readonly #options: ReplayOptions;
  readonly #requestOf: LogRequests;
  readonly #clientOf: ReturnType<typeof compileLogClient>;
  readonly #now: Decider;
  readonly #before: { decider: Decider; requestOf: LogRequests } | undefined;
  readonly #atOnce: Decider | undefined;
  readonly #sameSecond: SameSecond | undefined;
  readonly #tally = new Tally();
  readonly #deniedAtOnce = new Map<string, number>();
  readonly #clients = new ClientBook();
  readonly #peaks: Peaks | undefined;
  readonly #facts = newFacts();

  constructor(options: ReplayOptions) {
    const { policies, against, mapping, precisionMs, threads } = options;
    this.#options = options;
    if (options.measuresPeaks) this.#peaks = new Peaks();
    this.#requestOf = createLogRequests(policies, mapping);
    this.#clientOf = compileLogClient(policies.naming, threads);
    const salts = lastingSalts();
    const decider = (set: PolicySet) =>
      new Decider({ ...evaluabilityOf(set.policies, mapping), salts, policies: set });
    this.#now = decider(policies);
    this.#before = against && {
      decider: decider(against),
      requestOf: createLogRequests(against, mapping),
    };
    if (precisionMs <= 1 || !hasShortWindow(policies)) return;
    this.#atOnce = decider(policies);
    this.#sameSecond = new SameSecond(precisionMs, (...visit) => this.#decide(...visit));
  }

  /** Whether the entry is to be added. Call it for every entry, in any order: it counts what the log says. */
  wants(entry: LogEntry): boolean {
    const facts = this.#facts;
    if (!isTime(entry.startMs)) {
      facts.withoutTime++;
      return false;
    }
    facts.fromMs = Math.min(facts.fromMs, entry.startMs);
    facts.toMs = Math.max(facts.toMs, entry.startMs);
    if (entry.status === 429) facts.answered429++;
    if (entry.host === undefined) facts.withoutHost++;
    else facts.withHost++;
    const request = this.#requestOf(entry);
    if (request === undefined) facts.withoutAddress++;
    // How many requests a second has depends on all clients.
    return this.#sameSecond !== undefined || (request !== undefined && this.#isMine(request));
  }

  add(entry: LogEntry): void {
    const { startMs } = entry;
    if (this.#sameSecond === undefined) this.#decide(entry, startMs, startMs);
    else this.#sameSecond.add(entry);
  }

  finish(): ReplayResult {
    this.#sameSecond?.flush();
    const { limits, denied, deniedWithShadow, ...tally } = this.#tally;
    const { policies } = this.#options.policies;
    const clients = this.#clients;
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

  #decide(entry: LogEntry, atMs: number, atOnceMs: number): void {
    const request = this.#requestOf(entry);
    if (request === undefined) return;
    const { name, thread, address } = this.#clientOf(request);
    if (thread !== this.#options.thread) return;
    const known = this.#options.mapping.length === 0 ? this.#clients.entry(name) : undefined;
    // The address of the entry is a part of its line, which must not stay in memory as long as the address.
    if (known?.name === address) request.addresses.client = known.name;
    const decided = this.#now.decide(request, atMs);
    const { partition } = decided;
    const client =
      known ?? this.#clients.entry(isAddress(partition) ? name : this.#keyName(partition));
    this.#tally.add(decided, client, atMs);
    this.#peaks?.add(decided.counted, client, atMs);
    if (this.#atOnce !== undefined) {
      const { decision, wouldDeny } = this.#atOnce.decide(request, atOnceMs);
      if (decision.verdict === 'deny') this.#addAtOnce(decision);
      for (const each of wouldDeny) this.#addAtOnce(each);
    }
    if (this.#before === undefined) return;
    // The old file may trust other proxies and read other headers.
    const old = this.#before.requestOf(entry);
    const before = old && this.#before.decider.decide(old, atMs);
    if (before !== undefined) this.#tally.compare(decided, before, client);
  }

  #isMine(request: LogRequest): boolean {
    const { thread, threads } = this.#options;
    return threads === 1 || this.#clientOf(request).thread === thread;
  }

  #addAtOnce({ policy }: Decision): void {
    this.#deniedAtOnce.set(policy, (this.#deniedAtOnce.get(policy) ?? 0) + 1);
  }

  /** Keys that the file lists have an id; others, and users, have their partition. */
  #keyName(partition: string): string {
    const listed = this.#options.policies.listedClients.get(partition);
    return listed === undefined ? partition : KEY_NAME + listed.id;
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
