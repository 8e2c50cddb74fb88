/** From places in the text of a file to lines and columns. */
import { FileError } from './file-error.ts';
import type { Finding } from './finding.ts';
import { type LocatedRemark, pathText } from './remark.ts';
import type { YamlText } from './yaml-text.ts';

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
    }));
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
    })),
  );
}
