/** Remembers the overrides that ended last, so that operators learn who ended one, and when. */
import { DAY_MS } from '../core/salts.ts';
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
  /** By subject; the one that ended last comes last. */
  readonly #bySubject = new Map<string, EndedOverride>();

  add(ended: EndedOverride): void {
    const subject = subjectOf(ended.override);
    this.#bySubject.delete(subject);
    this.#bySubject.set(subject, ended);
    const [first] = this.#bySubject.keys();
    if (this.#bySubject.size > MOST && first !== undefined) this.#bySubject.delete(first);
  }

  /** Those of the last day, the one that ended last first. */
  list(nowMs: number): EndedOverride[] {
    return [...this.#bySubject.values()]
      .filter(({ endedMs }) => nowMs - endedMs < KEEP_MS)
      .reverse();
  }
}
