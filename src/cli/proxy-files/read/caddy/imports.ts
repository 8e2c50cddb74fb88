/** Reads a Caddyfile with the files that it imports. */
import { dirname } from 'node:path';
import type { Diagnostic } from '../../../../gateway/config/diagnostic.ts';
import { IncludeBudget } from '../include-budget.ts';
import type { ProxyFiles } from '../proxy-files.ts';

export interface CaddyConfig {
  /** Every import of a file is replaced by the file. */
  readonly text: string;
  readonly lines: readonly CaddyLine[];
  /** What could not be read. */
  readonly findings: readonly Diagnostic[];
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
  const expanded = ({ name, text, folder }: Part, depth: number): CaddyLine[] =>
    text.split('\n').flatMap((line, i) => {
      const [, path] = /^\s*import\s+"?([^\s"]+)"?/.exec(line) ?? [];
      const place = `${name}:${i + 1}`;
      // A name without a dot or a slash is a snippet of the Caddyfile.
      if (path === undefined || !/[./*]/.test(path)) return [{ text: line, place }];
      const imported = budget.read({ path, place, depth, ...(folder && { folder }) });
      return imported.flatMap((file) =>
        expanded({ ...file, folder: dirname(file.path) }, depth + 1),
      );
    });
  const lines = expanded({ ...files.main, folder: undefined }, 0);
  const text = lines.map((line) => line.text).join('\n');
  return { text, lines, findings: budget.findings };
}
