import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import { type FilePlace, placeText } from '../../proxy-files/file-place.ts';

export type Finding = Diagnostic & { readonly place: NonNullable<Diagnostic['place']> };

/** `what` is the text of the source: `limit_conn perip 10`. `why` is sentences: the reason, and what to do. */
type MakeFinding = (place: FilePlace, what: string, why: string) => Finding;

const made =
  (rule: string, severity: Diagnostic['severity'], words: string): MakeFinding =>
  ({ file, line, column }, what, why) => {
    const message = `${shortened(what)}: ${words}: ${why}`;
    return { rule, severity, file, place: { line, column }, path: '', message, remedy: '' };
  };

/** The policy file has nothing in its place. */
export const leftOut = made('left-out', 'warning', 'not carried over');
/** The policy file has something that counts otherwise. */
export const approximate = made('approximate', 'warning', 'approximate');
/** It is carried over, and something beside it differs. */
export const note = made('note', 'info', 'note');

export const REDIS_SETTING = 'the address of Redis is a setting of headgate: HEADGATE_REDIS_URL.';

const MAX_SHOWN = 80;

/** `site.conf:12:5: limit_conn perip 10: not carried over: ...` */
export function findingLine({ file, place, message }: Finding): string {
  return `${placeText({ file, ...place })}: ${message}`;
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN - 3)}...` : line;
}

export class ImportError extends Error {
  override readonly name = 'ImportError';

  constructor(place: FilePlace, reason: string) {
    super(`${placeText(place)}: ${reason}`);
  }
}

export function wrongSource(file: string, reason: string): ImportError {
  return new ImportError({ file, line: 1, column: 1 }, reason);
}
