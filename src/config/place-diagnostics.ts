/** From places in the text of a file to lines and columns. */

import type { Finding } from './diagnostic.ts';
import { FileError } from './file-error.ts';
import type { Rule } from './rules.ts';
import { type LocatedRemark, pathText } from './unplaced-diagnostic.ts';
import type { Path, YamlText } from './yaml-text.ts';

/** In the order of the file. */
export function located(
  remarks: readonly LocatedRemark[],
  file: string,
  yaml: YamlText,
): Finding[] {
  return remarks
    .toSorted((a, b) => a.offset - b.offset)
    .map(({ rule, offset, path, message }) => ({
      rule,
      file,
      place: yaml.place(offset),
      path: pathText(path),
      message: path.length === 0 ? `the file ${message}` : message,
      excerpt: isNowhere(rule, path) || mayHoldSecret(path) ? undefined : yaml.excerpt(offset),
    }));
}

/** What is missing from the file as a whole has no line. */
function isNowhere(rule: Rule, path: Path): boolean {
  return path.length === 0 || (rule === 'missing-key' && path.length === 1);
}

/** Keys belong there as digests, and somebody may have written one as it is. */
function mayHoldSecret(path: Path): boolean {
  return path.includes('api_key') || path.includes('sha256') || typeof path[0] === 'number';
}

/** Throws a FileError when the text is no YAML that can be used. */
export function refuseUnreadable(yaml: YamlText, file: string): void {
  if (yaml.mistakes.length === 0) return;
  throw new FileError(
    yaml.mistakes.map(({ offset, message }) => ({
      rule: 'invalid-yaml',
      file,
      place: yaml.place(offset),
      path: '',
      message,
      excerpt: yaml.excerpt(offset),
    })),
  );
}
