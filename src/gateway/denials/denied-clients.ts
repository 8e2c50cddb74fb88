/**
 * Remembers denied clients: by which policy, since when and how often. There is one entry for each client, policy and
 * reason. Their number is bounded: if there are too many, the clients whose last denial is longest ago are forgotten.
 * An entry keeps the latest causes of its denials. Their number is bounded for each entry and for all together.
 */
import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Decision, Denied } from '../core/counting/decision.ts';
import { partitionOf } from '../core/counting/descriptor.ts';
import { isAddress } from '../core/identity/partition.ts';
import { type DenialRun, haveSameCause, type RecordedDenial } from './denial-run.ts';

export interface DeniedClient {
  readonly client: string;
  /** The ids of its denials begin with this. */
  readonly tag: string;
  /** How many there were since `sinceMs`, milliseconds since the epoch. */
  count: number;
  sinceMs: number;
  lastMs: number;
  /** Its last denials, with one cause. There are none while the first denial is still being answered. */
  latest: DenialRun | undefined;
  /** When the last line about it was logged. */
  loggedMs: number;
  /** Denials since then. */
  unlogged: number;
}

interface Entry extends DeniedClient {
  named: number;
  readonly earlier: DenialRun[];
}

export interface FoundDenial {
  readonly client: DeniedClient;
  /** It is undefined if the denial itself is no longer kept. */
  readonly run: DenialRun | undefined;
}

const MAX_CLIENTS = 10_000;
/** A client can change its cause with every request, so each entry keeps so many earlier causes. */
const MAX_EARLIER = 100;
/** All entries together keep so many earlier causes, of about a kilobyte each. */
const MAX_EARLIER_OF_ALL = 10_000;
/** Random digits of a UUID: enough to tell apart the clients of several days, and short enough to read out. */
const TAG_LENGTH = 12;
/** After so long without a denial, the count starts again. */
const QUIET_MS = 600_000;

export interface DeniedClientsOptions {
  readonly now: () => number;
  readonly onForgotten: (client: DeniedClient) => void;
}

export class DeniedClients {
  readonly #now: () => number;
  readonly #entries: LRUCache<string, Entry>;
  readonly #byTag = new Map<string, Entry>();
  /** The last earlier runs of all entries: a ring, in which the next one takes the place of the oldest. */
  readonly #earlier: { readonly run: DenialRun; readonly entry: Entry }[] = [];
  #kept = 0;

  constructor({ now, onForgotten }: DeniedClientsOptions) {
    this.#now = now;
    this.#entries = new LRUCache({
      max: MAX_CLIENTS,
      dispose: (entry) => {
        this.#byTag.delete(entry.tag);
        onForgotten(entry);
      },
    });
  }

  /** The id of the next denial of this client: a tag for client, policy and reason, and a number. */
  name(decision: Decision, denied: Denied): string {
    const entry = this.#entryOf(decision, denied);
    return `${entry.tag}-${++entry.named}`;
  }

  add(recorded: RecordedDenial): DeniedClient {
    const { decision, denial } = recorded;
    const entry = this.#entryOf(decision, denial);
    const { latest } = entry;
    const nowMs = this.#now();
    const isNew = latest === undefined || latest.isReset || nowMs - entry.lastMs > QUIET_MS;
    if (isNew) {
      entry.count = 0;
      entry.sinceMs = nowMs;
    }
    entry.count++;
    entry.lastMs = nowMs;
    const number = numberIn(denial.id, entry);
    if (!isNew && number === latest.last + 1 && haveSameCause(latest.recorded, recorded)) {
      latest.last = number;
      latest.lastMs = nowMs;
      latest.recorded = recorded;
      return entry;
    }
    if (latest !== undefined) this.#keepEarlier(entry, latest);
    const times = { sinceMs: nowMs, lastMs: nowMs };
    entry.latest = { first: number, last: number, ...times, recorded, isReset: false };
    return entry;
  }

  /** Undefined for an id that was never given, or whose client is forgotten. */
  find(id: string): FoundDenial | undefined {
    const [, tag = '', digits] = /^(\w+)-([1-9]\d*)$/.exec(id) ?? [];
    const client = this.#byTag.get(tag);
    const number = Number(digits);
    if (client === undefined || number > client.named) return undefined;
    const runs = [...client.earlier, ...(client.latest ? [client.latest] : [])];
    return { client, run: runs.findLast(({ first, last }) => first <= number && number <= last) };
  }

  reset(keys: readonly string[]): void {
    const deleted = new Set(keys);
    const mark = (run: DenialRun) => {
      const key = run.recorded.decision.binding?.key;
      if (key !== undefined && deleted.has(key)) run.isReset = true;
    };
    for (const { earlier, latest } of this.#entries.values()) {
      for (const run of earlier) mark(run);
      if (latest !== undefined) mark(latest);
    }
  }

  /** Every client, the one that was denied last first. */
  *all(): Generator<DeniedClient> {
    for (const entry of this.#entries.values()) if (entry.count > 0) yield entry;
  }

  /**
   * Clients that were denied within the last `withinMs`, at most so many, without those that were reset. The most often
   * denied come first. Malformed requests are left out, because the next request of the client is not denied for them.
   */
  top(most: number, withinMs: number): DeniedClient[] {
    const sinceMs = this.#now() - withinMs;
    return [...this.all()]
      .filter(
        ({ lastMs, latest }) =>
          lastMs >= sinceMs &&
          latest?.isReset === false &&
          !latest.recorded.decision.reason.startsWith('malformed_'),
      )
      .sort((a, b) => b.count - a.count)
      .slice(0, most);
  }

  #keepEarlier(entry: Entry, run: DenialRun): void {
    entry.earlier.push(run);
    if (entry.earlier.length > MAX_EARLIER) entry.earlier.shift();
    const index = this.#kept++ % MAX_EARLIER_OF_ALL;
    const oldest = this.#earlier[index];
    // It is the oldest of its entry, unless that has dropped it.
    if (oldest?.entry.earlier[0] === oldest?.run) oldest?.entry.earlier.shift();
    this.#earlier[index] = { run, entry };
  }

  #entryOf(decision: Decision, denied: Denied): Entry {
    const client = deniedPartition(decision, denied);
    const key = `${client} ${decision.policy} ${decision.reason}`;
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const entry: Entry = {
      client,
      tag: randomUUID().slice(-TAG_LENGTH),
      named: 0,
      count: 0,
      sinceMs: 0,
      lastMs: Number.NEGATIVE_INFINITY,
      latest: undefined,
      earlier: [],
      loggedMs: Number.NEGATIVE_INFINITY,
      unlogged: 0,
    };
    this.#entries.set(key, entry);
    this.#byTag.set(entry.tag, entry);
    return entry;
  }
}

/** 0 if the entry was forgotten and is new since the denial got its id. */
function numberIn(id: string, { tag }: Entry): number {
  return id.startsWith(`${tag}-`) ? Number(id.slice(tag.length + 1)) : 0;
}

/**
 * The partition that is denied. Clients can invent unlisted keys without end. Unless such a key has reached its own
 * limit, the denied client is the address behind it, so that invented keys do not push other clients out.
 */
function deniedPartition({ binding }: Decision, { client, isMadeUp, address }: Denied): string {
  if (!isMadeUp) return client;
  if (binding === undefined) return address.daily.current;
  const counted = partitionOf(binding.key);
  if (counted === client) return client;
  return isAddress(counted) ? counted : address.daily.current;
}
