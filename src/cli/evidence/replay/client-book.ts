/** What is known about each client of a replay. There may be a million, so an entry is small. */
import { getOrAdd } from '../maps.ts';

export interface ClientEntry extends ClientRow {
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

  entry(name: string): ClientEntry {
    const known = this.#entries.get(name);
    if (known !== undefined) return known;
    // V8 keeps a part of a text as a reference to the whole text, here a line of the log.
    const copy = Buffer.from(name).toString();
    const denials = { denied: 0, deniedWithShadow: 0, newlyDenied: 0, newlyAllowed: 0 };
    const entry = { name: copy, requests: 0, ...denials, seen: [0] };
    this.#entries.set(copy, entry);
    return entry;
  }

  get size(): number {
    return this.#entries.size;
  }

  affected(denials: Denials) {
    const found = [...this.#entries.values()].filter((entry) => entry[denials] > 0);
    const most = topRows(found, denials).map(({ seen: _seen, ...row }) => row);
    return { count: found.length, most };
  }
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
