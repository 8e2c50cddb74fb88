/** What is known about each client of a replay. There may be a million, so an entry is small. */
import { getOrAdd } from '../maps.ts';

export interface ClientEntry extends ClientRow {
  /** Its place among the clients and networks of this book. */
  readonly number: number;
  readonly seen: number[];
}

export interface ClientRow {
  /** The address or network, or the partition of the key or user. */
  readonly name: string;
  requests: number;
  denied: number;
  /** Denied, or allowed although a policy in shadow mode would deny. */
  deniedWithShadow: number;
  newlyDenied: number;
  newlyAllowed: number;
}

export type Denials = 'denied' | 'deniedWithShadow' | 'newlyDenied' | 'newlyAllowed';

const MOST = 50;

export class ClientBook {
  readonly #entries = new Map<string, ClientEntry>();
  readonly #networks = new Map<string, number>();

  entry(name: string): ClientEntry {
    const known = this.#entries.get(name);
    if (known !== undefined) return known;
    const copy = copyOf(name);
    const denials = { denied: 0, deniedWithShadow: 0, newlyDenied: 0, newlyAllowed: 0 };
    const number = this.#nextNumber();
    const entry = { name: copy, number, requests: 0, ...denials, seen: [0] };
    this.#entries.set(copy, entry);
    return entry;
  }

  /** The number of a wider network of a client, which is not a client itself unless it is the same text. */
  networkNumber(network: string, client: ClientEntry): number {
    if (network === client.name) return client.number;
    return getOrAdd(this.#networks, network, () => this.#nextNumber());
  }

  get size(): number {
    return this.#entries.size;
  }

  affected(denials: Denials) {
    const found = [...this.#entries.values()].filter((entry) => entry[denials] > 0);
    const most = topRows(found, denials).map(({ seen: _seen, number: _number, ...row }) => row);
    return { count: found.length, most };
  }

  #nextNumber(): number {
    return this.#entries.size + this.#networks.size;
  }
}

/** V8 keeps a part of a text as a reference to the whole text, here a part of the log. */
export function copyOf(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

/** Rows of equal counts are in the order of their names, so the list does not depend on how the work was divided. */
export function topRows<Row extends ClientRow>(rows: readonly Row[], denials: Denials): Row[] {
  return rows
    .toSorted((a, b) => b[denials] - a[denials] || (a.name < b.name ? -1 : 1))
    .slice(0, MOST);
}

/** V8 keeps numbers of so many bits without a separate object. */
const BITS = 30;

/** Records, one bit each, which policies, limits and denials a client reached. */
export class Sightings {
  readonly #bits = new Map<object, number>();

  isFirst({ seen }: ClientEntry, what: object): boolean {
    const number = getOrAdd(this.#bits, what, () => this.#bits.size);
    const place = Math.floor(number / BITS);
    const bit = 1 << (number % BITS);
    while (seen.length <= place) seen.push(0);
    const bits = seen[place] ?? 0;
    if ((bits & bit) !== 0) return false;
    seen[place] = bits | bit;
    return true;
  }
}
