/** Reads a Caddyfile with the files that it imports. */
import { dirname } from 'node:path';
import { lineText } from '../../file-place.ts';
import type { DoctorFinding } from '../catalog.ts';
import { IncludeBudget, includeFindings } from '../include-budget.ts';
import type { ProxyFiles } from '../proxy-files.ts';

export interface CaddyConfig {
  /** Every import of a file is replaced by the file. */
  readonly text: string;
  readonly lines: readonly CaddyLine[];
  /** What could not be read. */
  readonly findings: readonly DoctorFinding[];
}

export interface CaddyLine {
  readonly text: string;
  /** `Caddyfile:12` */
  readonly place: string;
}

interface Part {
  readonly name: string;
  readonly text: string;
  /** Where its relative imports begin. */
  readonly folder: string | undefined;
}

export function readCaddyfile(files: ProxyFiles): CaddyConfig {
  const budget = new IncludeBudget(files);
  const expanded = ({ name, text, folder }: Part, open: readonly string[]): CaddyLine[] =>
    text.split('\n').flatMap((line, i) => {
      const [, path] = /^\s*import\s+"?([^\s"]+)"?/.exec(line) ?? [];
      const place = { file: name, line: i + 1, column: 1 };
      // A name without a dot or a slash is a snippet of the Caddyfile.
      if (path === undefined || !/[./*]/.test(path))
        return [{ text: line, place: lineText(place) }];
      const imported = budget.read({ path, place, open, ...(folder && { folder }) });
      return imported.flatMap((file) =>
        expanded({ ...file, folder: dirname(file.path) }, [...open, file.path]),
      );
    });
  const lines = expanded({ ...files.main, folder: undefined }, []);
  const text = lines.map((line) => line.text).join('\n');
  return { text, lines, findings: includeFindings(budget.problems) };
}
