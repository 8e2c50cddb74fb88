/** What is known of each client of a replay. There may be a million, so an entry is small. */

export interface ClientEntry {
  /** The address or network, or the partition of the key or user. */
  readonly name: string;
  requests: number;
  denied: number;
  newlyDenied: number;
  newlyAllowed: number;
  /** What the client was counted for already: a bit for each, see `Sightings`. */
  readonly seen: number[];
}

/** A client as reports have it. */
export type ClientRow = Omit<ClientEntry, 'seen'>;

/** Clients in each list of a report. */
const MOST = 50;

export class ClientBook {
  readonly #entries = new Map<string, ClientEntry>();

  entry(name: string): ClientEntry {
    let found = this.#entries.get(name);
    if (found === undefined) {
      found = {
        name: copyOf(name),
        requests: 0,
        denied: 0,
        newlyDenied: 0,
        newlyAllowed: 0,
        seen: [0],
      };
      this.#entries.set(found.name, found);
    }
    return found;
  }

  get size(): number {
    return this.#entries.size;
  }

  count(matches: (entry: ClientEntry) => boolean): number {
    let count = 0;
    for (const entry of this.#entries.values()) if (matches(entry)) count++;
    return count;
  }

  /** The clients with the most of something, and at least one of it. */
  top(of: (row: ClientRow) => number): ClientRow[] {
    const found: ClientRow[] = [];
    for (const { seen: _seen, ...row } of this.#entries.values()) if (of(row) > 0) found.push(row);
    return topRows(found, of);
  }
}

/** V8 keeps a part of a text as a reference to the whole text, here a line of the log. */
function copyOf(text: string): string {
  return Buffer.from(text).toString();
}

/** Rows of equal counts are in the order of their names, so the list does not depend on how the work was divided. */
export function topRows(rows: readonly ClientRow[], of: (row: ClientRow) => number): ClientRow[] {
  return rows.toSorted((a, b) => of(b) - of(a) || (a.name < b.name ? -1 : 1)).slice(0, MOST);
}

/** V8 keeps numbers of so many bits without an object of their own. */
const BITS = 30;

/** Tells which clients were seen at what. Everything that they can be seen at has a bit in their entries. */
export class Sightings {
  readonly #bits = new Map<object, number>();

  /** Whether this is the first time that the client is seen at something. */
  isFirst({ seen }: ClientEntry, what: object): boolean {
    const number = this.#bitOf(what);
    const place = Math.floor(number / BITS);
    const bit = 1 << (number % BITS);
    while (seen.length <= place) seen.push(0);
    const bits = seen[place] ?? 0;
    if ((bits & bit) !== 0) return false;
    seen[place] = bits | bit;
    return true;
  }

  #bitOf(what: object): number {
    let bit = this.#bits.get(what);
    if (bit === undefined) {
      bit = this.#bits.size;
      this.#bits.set(what, bit);
    }
    return bit;
  }
}
