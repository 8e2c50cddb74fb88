/** Runs imports in the tests, and validates what they write. */
import { readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { examinePolicies } from '../../src/cli/check/advice/examine-policies.ts';
import { type Imported, importPolicies } from '../../src/cli/import/import-source.ts';
import type { ImportKind } from '../../src/cli/import/kinds.ts';
import { filesOnDisk, type ProxyFiles } from '../../src/cli/proxy-files/read/proxy-files.ts';
import { ConfigError } from '../../src/gateway/config/diagnostic.ts';

export const IMPORTS = fileURLToPath(new URL('../fixtures/imports', import.meta.url));

const CLOUDFLARE = fileURLToPath(new URL('../../config/cloudflare-ranges.yaml', import.meta.url));
/** When the list of Cloudflare was young. */
const NOW_MS = Date.parse('2026-11-23');

/** A text of test/fixtures/imports, which names the files that it includes as its author does. */
function sourceOf(name: string, text: string, folder: string): ProxyFiles {
  const files = filesOnDisk(join(folder, name), text, name);
  const nameOf = (path: string) => relative(dirname(path).replace(/\/sites.*$/, ''), path);
  return {
    ...files,
    read(path) {
      try {
        return { ...files.read(path), name: nameOf(path) };
      } catch {
        throw new ConfigError([`${relative(IMPORTS, path)}: does not exist`]);
      }
    },
    isElsewhere: () => false,
  };
}

/** Imports a file of test/fixtures/imports, or a text. */
export function importText(kind: ImportKind, text: string, name = 'source'): Imported {
  return importPolicies(kind, sourceOf(name, text, IMPORTS), { shadow: false });
}

export function importFile(kind: ImportKind, path: string): Imported {
  const source = sourceOf(basename(path), readFileSync(path, 'utf8'), dirname(path));
  return importPolicies(kind, source, { shadow: false });
}

/** What `headgate check` says about a policy file, without its notes. */
export function problemsOf(policies: string): string[] {
  const files = { policies: 'policies.yaml', cloudflareRanges: CLOUDFLARE };
  return examinePolicies(files, NOW_MS, () => policies)
    .diagnostics.filter(({ severity }) => severity !== 'info')
    .map(({ severity, rule, message }) => `${severity} ${rule}: ${message}`);
}
