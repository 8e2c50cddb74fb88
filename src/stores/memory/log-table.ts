/**
 * The logs of all keys, in the order of their last use.
 *
 * A list through the entries keeps that order. Deleting a key from a Map and adding it again would too, but costs V8
 * time in proportion to the size of the Map when it is the same key again and again, as it is under attack.
 */
import { WindowLog } from './window-log.ts';

export interface LogEntry {
  readonly key: string;
  readonly windowMs: number;
  readonly log: WindowLog;
  /** Neighbours in the order of use. */
  older: LogEntry | undefined;
  newer: LogEntry | undefined;
}

export class LogTable {
  readonly #byKey = new Map<string, LogEntry>();
  #oldest: LogEntry | undefined;
  #newest: LogEntry | undefined;

  get size(): number {
    return this.#byKey.size;
  }

  /** The entry that was not used for the longest time. */
  get oldest(): LogEntry | undefined {
    return this.#oldest;
  }

  /** Counts as a use. */
  get(key: string): LogEntry | undefined {
    const entry = this.#byKey.get(key);
    if (entry !== undefined && entry !== this.#newest) {
      this.#unlink(entry);
      this.#linkAsNewest(entry);
    }
    return entry;
  }

  add(key: string, windowMs: number): LogEntry {
    const log = new WindowLog();
    const entry: LogEntry = { key, windowMs, log, older: undefined, newer: undefined };
    this.#byKey.set(key, entry);
    this.#linkAsNewest(entry);
    return entry;
  }

  delete(entry: LogEntry): void {
    this.#byKey.delete(entry.key);
    this.#unlink(entry);
  }

  #linkAsNewest(entry: LogEntry): void {
    entry.older = this.#newest;
    entry.newer = undefined;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
  }

  #unlink({ older, newer }: LogEntry): void {
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
  }
}
