/** Reads a Caddyfile with the files that it imports. */
import { dirname } from 'node:path';
import type { DoctorFinding } from '../catalog.ts';
import { IncludeBudget } from './include-budget.ts';
import type { ProxyFiles } from './proxy-files.ts';

export interface CaddyConfig {
  /** Every import of a file is replaced by the file. */
  readonly text: string;
  /** What could not be read. */
  readonly findings: readonly DoctorFinding[];
}

interface Part {
  readonly name: string;
  readonly text: string;
  /** Where its relative imports begin. */
  readonly folder: string | undefined;
}

export function readCaddyfile(files: ProxyFiles): CaddyConfig {
  const budget = new IncludeBudget(files);
  const expanded = ({ name, text, folder }: Part, depth: number): string[] =>
    text.split('\n').flatMap((line, i) => {
      const [, path] = /^\s*import\s+"?([^\s"]+)"?/.exec(line) ?? [];
      // A name without a dot or a slash is a snippet of the Caddyfile.
      if (path === undefined || !/[./*]/.test(path)) return [line];
      const place = `${name}:${i + 1}`;
      const imported = budget.read({ path, place, depth, ...(folder && { folder }) });
      return imported.flatMap((file) =>
        expanded({ ...file, folder: dirname(file.path) }, depth + 1),
      );
    });
  const text = expanded({ ...files.main, folder: undefined }, 0).join('\n');
  return { text, findings: budget.findings };
}
