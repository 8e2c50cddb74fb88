/** What is known about each client of a replay, by its number. There may be a million, so it is kept in columns. */
import { copyOf } from '../../../gateway/core/copied-text.ts';
import { getOrAdd } from '../maps.ts';
import { ipv4Bits, ipv4Text } from './ipv4-bits.ts';

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
const COLUMNS = { requests: 0, denied: 1, deniedWithShadow: 2, newlyDenied: 3, newlyAllowed: 4 };
const WIDTH = 5;

export class ClientBook {
  /** The numbers of clients by their bits, or by their names; and of the wider networks of clients. */
  readonly #addresses = new Map<number, number>();
  readonly #others = new Map<string, number>();
  readonly #networks = new Map<string, number>();
  /** By number: bits or a name. Undefined for a wider network, which is no client. */
  readonly #names: (number | string | undefined)[] = [];
  #counts = new Uint32Array(1_024 * WIDTH);

  /** The number of a client, which has one from now on. */
  numberOf(name: string): number {
    const bits = ipv4Bits(name);
    if (bits !== undefined) return getOrAdd(this.#addresses, bits, () => this.#add(bits));
    const known = this.#others.get(name);
    if (known !== undefined) return known;
    const copy = copyOf(name);
    return getOrAdd(this.#others, copy, () => this.#add(copy));
  }

  /** The number of a wider network of a client, which is not a client itself unless it is the same text. */
  networkNumber(network: string, client: number): number {
    if (network === this.#names[client]) return client;
    return getOrAdd(this.#networks, network, () => this.#add(undefined));
  }

  nameOf(client: number): string {
    const name = this.#names[client] ?? '';
    return typeof name === 'number' ? ipv4Text(name) : name;
  }

  count(client: number, column: keyof typeof COLUMNS): void {
    const at = client * WIDTH + COLUMNS[column];
    this.#counts[at] = (this.#counts[at] as number) + 1;
  }

  get size(): number {
    return this.#addresses.size + this.#others.size;
  }

  affected(denials: Denials) {
    const found: ClientRow[] = [];
    for (let client = 0; client < this.#names.length; client++) {
      if (this.#counts[client * WIDTH + COLUMNS[denials]] !== 0) found.push(this.#row(client));
    }
    return { count: found.length, most: topRows(found, denials) };
  }

  #row(client: number): ClientRow {
    const [requests = 0, denied = 0, deniedWithShadow = 0, newlyDenied = 0, newlyAllowed = 0] =
      this.#counts.subarray(client * WIDTH);
    const counts = { requests, denied, deniedWithShadow, newlyDenied, newlyAllowed };
    return { name: this.nameOf(client), ...counts };
  }

  #add(name: number | string | undefined): number {
    const number = this.#names.push(name) - 1;
    if (number * WIDTH >= this.#counts.length) {
      this.#counts = new Uint32Array(this.#counts.buffer.transfer(2 * this.#counts.byteLength));
    }
    return number;
  }
}

/** Rows of equal counts are in the order of their names, so the list does not depend on how the work was divided. */
export function topRows<Row extends ClientRow>(rows: readonly Row[], denials: Denials): Row[] {
  return rows
    .toSorted((a, b) => b[denials] - a[denials] || (a.name < b.name ? -1 : 1))
    .slice(0, MOST);
}

/** Clients that have reached a policy, a limit or a denial: a bit for each number. */
export class ClientSet {
  #bits = new Uint8Array(16);

  /** Whether it did not have the client before. */
  add(client: number): boolean {
    const place = client >>> 3;
    if (place >= this.#bits.length) {
      this.#bits = new Uint8Array(this.#bits.buffer.transfer(2 * place));
    }
    const bits = this.#bits[place] as number;
    const bit = 1 << (client & 7);
    this.#bits[place] = bits | bit;
    return (bits & bit) === 0;
  }
}
