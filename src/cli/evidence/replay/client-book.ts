/** What is known about each client of a replay. There may be a million, so an entry is small. */
import { getOrAdd } from '../maps.ts';
import { ipv4Bits } from './ipv4-bits.ts';

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
  /** By their bits, or by their names. */
  readonly #addresses = new Map<number, ClientEntry>();
  readonly #others = new Map<string, ClientEntry>();
  readonly #networks = new Map<string, number>();

  entry(name: string): ClientEntry {
    const bits = ipv4Bits(name);
    return bits === undefined
      ? (this.#others.get(name) ?? getOrAdd(this.#others, copyOf(name), () => this.#newEntry(name)))
      : getOrAdd(this.#addresses, bits, () => this.#newEntry(name));
  }

  /** The number of a wider network of a client, which is not a client itself unless it is the same text. */
  networkNumber(network: string, client: ClientEntry): number {
    if (network === client.name) return client.number;
    return getOrAdd(this.#networks, network, () => this.#nextNumber());
  }

  get size(): number {
    return this.#addresses.size + this.#others.size;
  }

  affected(denials: Denials) {
    const all = [this.#addresses, this.#others].flatMap((entries) => [...entries.values()]);
    const found = all.filter((entry) => entry[denials] > 0);
    const most = topRows(found, denials).map(({ seen: _seen, number: _number, ...row }) => row);
    return { count: found.length, most };
  }

  #newEntry(name: string): ClientEntry {
    const denials = { denied: 0, deniedWithShadow: 0, newlyDenied: 0, newlyAllowed: 0 };
    const number = this.#nextNumber();
    return { name: copyOf(name), number, requests: 0, ...denials, seen: [0] };
  }

  #nextNumber(): number {
    return this.size + this.#networks.size;
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

/** Records in one bit whether a client has reached a policy, a limit or a denial. `number` says which of them. */
export function isFirst({ seen }: ClientEntry, number: number): boolean {
  const place = Math.floor(number / BITS);
  const bit = 1 << (number % BITS);
  while (seen.length <= place) seen.push(0);
  const bits = seen[place] ?? 0;
  if ((bits & bit) !== 0) return false;
  seen[place] = bits | bit;
  return true;
}
