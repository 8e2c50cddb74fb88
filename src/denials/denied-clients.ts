/**
 * Who is denied, by which policy, since when and how often: an entry for each client and policy, in bounded number. Who
 * is denied most is asked for again and again, so of more clients than fit those make room that were denied least lately.
 */
import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Decision, Denial, Denied } from '../core/decision.ts';
import { partitionOf } from '../core/descriptor.ts';
import { isAddress } from '../core/partition.ts';
import type { Answered } from './answered.ts';

export interface DenialTold {
  readonly decision: Decision;
  readonly denial: Denial;
  /** Absent for what was not answered so: a policy in shadow. */
  readonly answered: Answered | undefined;
}

export interface DeniedClient {
  /** Its partition. */
  readonly client: string;
  /** What the ids of its denials begin with. */
  readonly tag: string;
  /** Denials since `sinceMs`. */
  count: number;
  /** Milliseconds since the epoch, of the first of them. */
  sinceMs: number;
  lastMs: number;
  last: DenialTold | undefined;
  /** What the log has told of it. */
  toldMs: number;
  untold: number;
}

interface Entry extends DeniedClient {
  /** Denials that have a name. */
  named: number;
}

const MAX_CLIENTS = 10_000;
/** Of the random digits of a UUID: enough to tell the clients of days apart, and to read one out. */
const TAG_LENGTH = 12;
/** Who was not denied for so long, and then is, is counted from there. */
const QUIET_MS = 600_000;

export interface DeniedClientsOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Called for what makes room. */
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

  /** What the next denial of this client is called: one name for the client at the policy, and a number. */
  name(decision: Decision, denied: Denied): string {
    const entry = this.#entryOf(decision, denied);
    return `${entry.tag}-${++entry.named}`;
  }

  add(told: DenialTold): DeniedClient {
    const { decision, denial } = told;
    const entry = this.#entryOf(decision, denial);
    const nowMs = this.#now();
    if (nowMs - entry.lastMs > QUIET_MS) {
      entry.count = 0;
      entry.sinceMs = nowMs;
    }
    entry.count++;
    entry.lastMs = nowMs;
    entry.last = told;
    return entry;
  }

  /** Whose denials have this name. Undefined for a name that was never given, or is forgotten. */
  find(id: string): DeniedClient | undefined {
    const [, tag = '', number] = /^(\w+)-([1-9]\d*)$/.exec(id) ?? [];
    const entry = this.#byTag.get(tag);
    return entry !== undefined && Number(number) <= entry.named ? entry : undefined;
  }

  /** Those who were denied within the last `withinMs`, the most often denied first. */
  top(most: number, withinMs: number): DeniedClient[] {
    const sinceMs = this.#now() - withinMs;
    return [...this.#entries.values()]
      .filter(({ count, lastMs }) => count > 0 && lastMs >= sinceMs)
      .sort((a, b) => b.count - a.count)
      .slice(0, most);
  }

  #entryOf(decision: Decision, denied: Denied): Entry {
    const client = whoIsDenied(decision, denied);
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
      toldMs: Number.NEGATIVE_INFINITY,
      untold: 0,
    };
    this.#entries.set(key, entry);
    this.#byTag.set(entry.tag, entry);
    return entry;
  }
}

/**
 * Keys that nobody lists are made up as fast as they are used up. Who was denied for anything but what this key has used
 * up is the address behind it.
 */
function whoIsDenied({ binding }: Decision, { client, isMadeUp, address }: Denied): string {
  if (!isMadeUp) return client;
  if (binding === undefined) return address.daily.current;
  const counted = partitionOf(binding.key);
  if (counted === client) return client;
  return isAddress(counted) ? counted : address.daily.current;
}
