/** What the person who runs an import has to know about one place of the source. */
import { placeText, type SourcePlace } from './source.ts';

/**
 * `left-out`: the policy file has nothing in its place. `approximate`: the policy file has something that counts
 * otherwise. `note`: it is carried over, and something beside it differs.
 */
export type FindingKind = 'left-out' | 'approximate' | 'note';

export interface Finding {
  readonly place: SourcePlace;
  readonly kind: FindingKind;
  /** The text of the source that it is about: `limit_conn perip 10`. */
  readonly what: string;
  /** Sentences: why, and what to do. */
  readonly why: string;
}

const WORDS: Readonly<Record<FindingKind, string>> = {
  'left-out': 'not carried over',
  approximate: 'approximate',
  note: 'note',
};

const MAX_SHOWN = 80;

/** `site.conf:12:5: limit_conn perip 10: not carried over: ...` */
export function findingLine({ place, kind, what, why }: Finding): string {
  return `${placeText(place)}: ${shortened(what)}: ${WORDS[kind]}: ${why}`;
}

/** One line of at most 80 characters. */
export function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN - 3)}...` : line;
}

/** The source cannot be read as what it should be. */
export class ImportError extends Error {
  override readonly name = 'ImportError';

  readonly #place: SourcePlace;
  readonly #reason: string;

  constructor(place: SourcePlace, reason: string) {
    super(`${placeText(place)}: ${reason}`);
    this.#place = place;
    this.#reason = reason;
  }

  /** The same error with a likely cause. */
  because(cause: string): ImportError {
    return new ImportError(
      this.#place,
      `${this.#reason}. ${cause.charAt(0).toUpperCase()}${cause.slice(1)}`,
    );
  }
}
