/**
 * Remembers who is denied: by which policy, since when and how often. There is one entry for each client, policy and
 * reason. Their number is bounded: if there are too many, the clients whose last denial is longest ago are forgotten.
 */
import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Decision, Denial, Denied } from '../core/decision.ts';
import { partitionOf } from '../core/descriptor.ts';
import { isAddress } from '../core/partition.ts';

/** A denial, as it was decided and answered. */
export interface RecordedDenial {
  readonly decision: Decision;
  readonly denial: Denial;
  /** Absent for a denial by a shadow policy, which no proxy gets. */
  readonly answered: { readonly dialect: string; readonly durationMs: number } | undefined;
}

export interface DeniedClient {
  /** Its partition. */
  readonly client: string;
  /** The ids of its denials begin with this. */
  readonly tag: string;
  /** Denials since `sinceMs`. */
  count: number;
  /** Of the first of them, milliseconds since the epoch. */
  sinceMs: number;
  /** Of the last denial, milliseconds since the epoch. */
  lastMs: number;
  last: RecordedDenial | undefined;
  /** An operator reset the quota that denied it, and it was not denied since. */
  isReset: boolean;
  /** When the last line about it was logged, milliseconds since the epoch. */
  loggedMs: number;
  /** Denials since then. */
  unlogged: number;
}

interface Entry extends DeniedClient {
  /** Denials that have an id. */
  named: number;
}

const MAX_CLIENTS = 10_000;
/** Random digits of a UUID: enough to tell apart the clients of several days, and short enough to read out. */
const TAG_LENGTH = 12;
/** After so long without a denial, the count starts again. */
const QUIET_MS = 600_000;

export interface DeniedClientsOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Called for each client that is forgotten to make room. */
  readonly onForgotten: (client: DeniedClient) => void;
}

export class DeniedClients {
  readonly #now: () => number;
  readonly #entries: LRUCache<string, Entry>;
  readonly #byTag = new Map<string, Entry>();

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
    const nowMs = this.#now();
    if (entry.isReset || nowMs - entry.lastMs > QUIET_MS) {
      entry.count = 0;
      entry.sinceMs = nowMs;
      entry.isReset = false;
    }
    entry.count++;
    entry.lastMs = nowMs;
    entry.last = recorded;
    return entry;
  }

  /** The client of the denial with this id. Undefined for an id that was never given, or whose client is forgotten. */
  find(id: string): DeniedClient | undefined {
    const [, tag = '', number] = /^(\w+)-([1-9]\d*)$/.exec(id) ?? [];
    const entry = this.#byTag.get(tag);
    return entry !== undefined && Number(number) <= entry.named ? entry : undefined;
  }

  /** Call this after these store keys were deleted. */
  reset(keys: readonly string[]): void {
    const deleted = new Set(keys);
    for (const entry of this.#entries.values()) {
      const key = entry.last?.decision.binding?.key;
      if (key !== undefined && deleted.has(key)) entry.isReset = true;
    }
  }

  /** Clients that were denied within the last `withinMs`, at most so many, without those that were reset. The most often denied come first. */
  top(most: number, withinMs: number): DeniedClient[] {
    const sinceMs = this.#now() - withinMs;
    return [...this.#entries.values()]
      .filter(({ count, lastMs, isReset }) => count > 0 && lastMs >= sinceMs && !isReset)
      .sort((a, b) => b.count - a.count)
      .slice(0, most);
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
      last: undefined,
      isReset: false,
      loggedMs: Number.NEGATIVE_INFINITY,
      unlogged: 0,
    };
    this.#entries.set(key, entry);
    this.#byTag.set(entry.tag, entry);
    return entry;
  }
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
