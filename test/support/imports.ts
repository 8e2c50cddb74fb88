/** Runs imports in the tests, and validates what they write. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { examinePolicies } from '../../src/cli/check/advice/examine-policies.ts';
import { type Imported, importPolicies } from '../../src/cli/import/import-source.ts';
import type { ImportKind } from '../../src/cli/import/kinds.ts';
import type { SourceFiles } from '../../src/cli/import/shared/source.ts';
import { readText } from '../../src/gateway/config/text-file.ts';

export const IMPORTS = fileURLToPath(new URL('../fixtures/imports', import.meta.url));

const CLOUDFLARE = fileURLToPath(new URL('../../config/cloudflare-ranges.yaml', import.meta.url));
/** When the list of Cloudflare was young. */
const NOW_MS = Date.parse('2026-11-23');

const FILES: SourceFiles = {
  read(path) {
    try {
      return readText(path);
    } catch {
      throw new Error(`${relative(IMPORTS, path)}: does not exist`);
    }
  },
  list(folder) {
    try {
      return readdirSync(folder).sort();
    } catch {
      return [];
    }
  },
  isElsewhere: () => false,
  shown: (path) => relative(dirname(path).replace(/\/sites.*$/, ''), path),
};

/** Imports a file of test/fixtures/imports, or a text. */
export function importText(kind: ImportKind, text: string, name = 'source'): Imported {
  const source = { name, text, folder: IMPORTS, files: FILES };
  return importPolicies(kind, source, { shadow: false });
}

export function importFile(kind: ImportKind, path: string): Imported {
  const source = { name: path.replace(/^.*\//, ''), folder: dirname(path), files: FILES };
  return importPolicies(kind, { ...source, text: readFileSync(path, 'utf8') }, { shadow: false });
}

/** What `headgate check` says about a policy file, without its notes. */
export function problemsOf(policies: string): string[] {
  const files = { policies: 'policies.yaml', cloudflareRanges: CLOUDFLARE };
  return examinePolicies(files, NOW_MS, () => policies)
    .diagnostics.filter(({ severity }) => severity !== 'info')
    .map(({ severity, rule, message }) => `${severity} ${rule}: ${message}`);
}
