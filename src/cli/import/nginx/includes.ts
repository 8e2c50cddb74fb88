/** Follows the `include` lines of an NGINX configuration. */
import { isAbsolute, join } from 'node:path';
import { NOT_SHOWN } from '../../../gateway/config/text-file.ts';
import { fitsName, isPattern } from '../../proxy-files/read/file-pattern.ts';
import { type Finding, ImportError } from '../shared/finding.ts';
import type { Source } from '../shared/source.ts';
import { type Directive, directiveText, readTree } from './tree.ts';

/** Sites of large servers are some hundred files. */
const MAX_FILES = 2_000;
const MAX_CHARACTERS = 32 * 1024 * 1024;
const MAX_DEPTH = 20;
const MAX_PATTERN = 1_000;

export interface Configuration {
  readonly directives: readonly Directive[];
  /** Files that could not be read. */
  readonly findings: readonly Finding[];
}

/** Paths of include lines are relative to the folder of the first file, as NGINX has it. */
export function readConfiguration({ name, text, folder, files }: Source): Configuration {
  const findings: Finding[] = [];
  let filesRead = 1;
  let characters = text.length;

  const read = (content: string, shown: string, open: readonly string[]): Directive[] =>
    readTree(content, shown, (include) => included(include, open));

  const included = (include: Directive, open: readonly string[]): Directive[] => {
    const [pattern = ''] = include.args;
    const paths = expand(isAbsolute(pattern) ? pattern : join(folder, pattern), files.list);
    return paths.flatMap((path) => {
      if (open.includes(path))
        throw new ImportError(
          include.place,
          `${files.shown(path)} includes itself, directly or through other files: remove this line`,
        );
      if (open.length >= MAX_DEPTH)
        throw new ImportError(
          include.place,
          `files include each other deeper than ${MAX_DEPTH} levels`,
        );
      if (++filesRead > MAX_FILES)
        throw new ImportError(include.place, `more than ${MAX_FILES} files are included`);
      const content = readOrNote(include, path);
      if (content === undefined) return [];
      characters += content.length;
      if (characters > MAX_CHARACTERS)
        throw new ImportError(
          include.place,
          `the files together have more than ${MAX_CHARACTERS} characters`,
        );
      return orNotShown(include, path, () => read(content, files.shown(path), [...open, path]));
    });
  };

  /** An include line can name any file of the machine, which the author of the line may not be allowed to read. */
  const orNotShown = (include: Directive, path: string, readIt: () => Directive[]): Directive[] => {
    try {
      return readIt();
    } catch (error) {
      if (!(error instanceof ImportError) || !files.isElsewhere(path, folder)) throw error;
      throw new ImportError(include.place, `${files.shown(path)} ${NOT_SHOWN}`);
    }
  };

  const readOrNote = (include: Directive, path: string): string | undefined => {
    try {
      return files.read(path);
    } catch (error) {
      const why = `${(error as Error).message}. If it has limits, import it too, or run the command where NGINX reads it.`;
      findings.push({ place: include.place, kind: 'left-out', what: directiveText(include), why });
      return undefined;
    }
  };

  return { directives: orTemplate(text, () => read(text, name, [])), findings };
}

/** Templates of other programs are a frequent reason why a text is no configuration. */
function orTemplate<T>(text: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ImportError) || !/\{[{%]/.test(text)) throw error;
    throw error.because('it looks like a template: render it first');
  }
}

/** The paths that a pattern with `*`, `?` and `[a-z]` in its parts names. A path without them names itself. */
function expand(pattern: string, list: (folder: string) => readonly string[]): string[] {
  if (!isPattern(pattern) || pattern.length > MAX_PATTERN) return [pattern];
  const parts = pattern.split('/');
  let folders = [parts[0] === '' ? '/' : (parts[0] ?? '')];
  for (const part of parts.slice(1)) {
    folders = isPattern(part)
      ? folders.flatMap((folder) =>
          list(folder)
            .filter((name) => fitsName(part, name))
            .map((name) => join(folder, name)),
        )
      : folders.map((folder) => join(folder, part));
    if (folders.length > MAX_FILES) folders = folders.slice(0, MAX_FILES + 1);
  }
  return folders;
}
