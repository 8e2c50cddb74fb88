/** Remembers the overrides that ended last, so that operators learn who ended one, and when. */
import { DAY_MS } from '../../core/identity/salts.ts';
import { type Override, subjectOf } from './override.ts';

export interface EndedOverride {
  readonly override: Override;
  /** Milliseconds since the epoch. */
  readonly endedMs: number;
  /** The operator who removed it; undefined if it expired. */
  readonly endedBy: string | undefined;
}

const MOST = 100;
const KEEP_MS = DAY_MS;

export class EndedOverrides {
  /** By subject and start; the one that ended last comes last. */
  readonly #ended = new Map<string, EndedOverride>();

  add(ended: EndedOverride): void {
    const name = `${subjectOf(ended.override)} ${ended.override.sinceMs}`;
    this.#ended.delete(name);
    this.#ended.set(name, ended);
    const [first] = this.#ended.keys();
    if (this.#ended.size > MOST && first !== undefined) this.#ended.delete(first);
  }

  /** Those of the last day, the one that ended last first. */
  list(nowMs: number): EndedOverride[] {
    return [...this.#ended.values()].filter(({ endedMs }) => nowMs - endedMs < KEEP_MS).reverse();
  }
}
