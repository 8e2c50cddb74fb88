/** Mistakes and notes as people read them: `file:line:column: path: what is wrong`. */
import { ConfigError, printable } from './config-error.ts';
import { type LocatedMistake, pathText } from './schema-mistakes.ts';
import type { YamlText } from './yaml-text.ts';

/** In the order of the file. */
export function located(
  mistakes: readonly LocatedMistake[],
  fileName: string,
  yaml: YamlText,
): string[] {
  return mistakes
    .toSorted((a, b) => a.offset - b.offset)
    .map(({ offset, path, message }) => {
      const subject = path.length === 0 ? 'the file' : `${pathText(path)}:`;
      return printable(`${fileName}:${yaml.place(offset)}: ${subject} ${message}`);
    });
}

/** Throws a ConfigError when the text is no YAML that can be used. */
export function refuseUnreadable(yaml: YamlText, fileName: string): void {
  if (yaml.mistakes.length === 0) return;
  throw new ConfigError(
    yaml.mistakes.map(({ offset, message }) => `${fileName}:${yaml.place(offset)}: ${message}`),
  );
}
