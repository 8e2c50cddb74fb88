/** What is known of each client of a replay. There may be a million, so an entry is small. */

export interface ClientEntry {
  /** The address or network, or the partition of the key or user. */
  readonly name: string;
  requests: number;
  denied: number;
  newlyDenied: number;
  newlyAllowed: number;
  /** What the client was counted for already: policies and limits, as requests and as denials. Few at a time. */
  readonly seen: object[];
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
        seen: [],
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

/** Whether this is the first time that the client is seen at something. */
export function isFirst({ seen }: ClientEntry, what: object): boolean {
  if (seen.includes(what)) return false;
  seen.push(what);
  return true;
}
