/** Something that a rule says of a file, and where. */
import { type Rule, severityOf } from './rules.ts';

/** Both from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** The line of a place, for people. */
export interface Excerpt {
  /** Its part around the place, where it is long. Printable. */
  readonly text: string;
  /** Characters before the place. */
  readonly caret: number;
}

export interface Finding {
  readonly rule: Rule;
  /** As people would name it. */
  readonly file: string;
  /** None where the file as a whole is meant, or is not there. */
  readonly place: Place | undefined;
  /** `policies[2].limits[0]`; empty where the message says what is meant. */
  readonly path: string;
  readonly message: string;
  /** None for a file as a whole, and where the line may hold a secret. */
  readonly excerpt?: Excerpt | undefined;
}

/** As loading tells of it: `file:line:column: path: what is wrong`. */
export function lineOf({ rule, file, place, path, message }: Finding): string {
  const where = place === undefined ? file : `${file}:${place.line}:${place.column}`;
  const level = severityOf(rule) === 'warning' ? 'warning' : '';
  return [where, path, level, message].filter((part) => part !== '').join(': ');
}
