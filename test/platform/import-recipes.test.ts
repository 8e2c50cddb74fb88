/**
 * docs/recipes/from-*.md: the configuration of each page becomes its policy file and its findings, if headgate imports it;
 * the file is free of mistakes and warnings, its tests pass, and a real gateway with it answers what the page shows.
 */
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { IMPORT_KINDS } from '../../src/cli/import/kinds.ts';
import { runCommand } from '../support/command.ts';
import { startGateway } from '../support/gateway.ts';
import { blocksOf } from '../support/page.ts';
import { agree, comparable, readRecipe, runCommands, waitsOf } from './support/recipe-page.ts';

const FOLDER = new URL('../../docs/recipes/', import.meta.url);
const PAGES = globSync('from-*.md', { cwd: fileURLToPath(FOLDER) }).sort();
/** Its options are copied by hand. */
const BY_HAND = 'from-express-rate-limit.md';

test('there is a recipe for every kind of import', () => {
  const text = PAGES.map((page) => readFileSync(new URL(page, FOLDER), 'utf8')).join('\n');
  for (const kind of IMPORT_KINDS) expect(text).toContain(`headgate import ${kind} `);
});

/** The configuration is the first block of a page, then come the command and what it says. */
function shownImport(page: string) {
  const [source, command, said] = blocksOf(readFileSync(new URL(page, FOLDER), 'utf8'));
  const [, kind, file] = /^headgate import (\S+) (\S+) --out/m.exec(command?.text ?? '') ?? [];
  const found = IMPORT_KINDS.find((each) => each === kind);
  if (found === undefined || file === undefined) throw new Error(`${page}: no import`);
  return { kind: found, file, source: source?.text ?? '', said: said?.text ?? '' };
}

/** Without what names the file in which the policies were written. */
const WRITTEN = 'policies.yaml: ';

test.each(PAGES.filter((name) => name !== BY_HAND))(
  'docs/recipes/%s shows what the import makes of its configuration',
  async (name) => {
    const page = readRecipe(new URL(name, FOLDER));
    const { kind, file, source, said } = shownImport(name);
    const folder = mkdtempSync(join(tmpdir(), 'headgate-import-recipe-'));
    try {
      const base = file.replace(/^.*\//, '');
      writeFileSync(join(folder, base), source);
      const run = await runCommand(['import', kind, base], { cwd: folder });
      expect(run.code).toBe(0);
      const withPath = (text: string) => text.replaceAll(base, file);
      expect(withPath(run.stdout).split('\n').slice(1).join('\n')).toBe(page.policies);
      expect(withPath(run.stderr)).toBe(said.replace(WRITTEN, ''));
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

describe.each(PAGES)('docs/recipes/%s', (name) => {
  const page = readRecipe(new URL(name, FOLDER));

  test('has a policy file without warnings, and tests of it that pass', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-import-recipe-'));
    try {
      writeFileSync(join(folder, 'policies.yaml'), page.policies);
      writeFileSync(join(folder, 'policies_test.yaml'), page.tests);
      const checked = await runCommand(['check', '--strict', 'policies.yaml'], { cwd: folder });
      expect(checked).toMatchObject({ code: 0 });
      const tested = await runCommand(['test', '--coverage'], { cwd: folder });
      expect(tested, tested.stdout).toMatchObject({ code: 0 });
      // Limits of policies with mode: off count nothing.
      const off = page.policies.match(/mode: off$/gm)?.length ?? 0;
      const rows = [...tested.stdout.matchAll(/^ {2}(\S+(?: \S+)*) {2,}.* requests per /gm)];
      expect(rows.filter(([, row = '']) => !row.startsWith('ok'))).toHaveLength(off);
      expect(rows.length).toBeGreaterThan(off + 1);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('shows what a gateway with its policy file answers', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-import-recipe-'));
    try {
      writeFileSync(join(folder, 'policies.yaml'), page.policies);
      const env = { HEADGATE_POLICIES: join(folder, 'policies.yaml') };
      await using gateway = await startGateway(env);
      expect(page.runs.length).toBeGreaterThan(0);
      for (const { commands, shown } of page.runs) {
        const { code, printed } = await runCommands(commands, gateway, folder);
        const [expected, real] = [waitsOf(comparable(shown)), waitsOf(comparable(printed))];
        expect({ code, text: real.text }, commands).toEqual({ code: 0, text: expected.text });
        expect(agree(expected.waits, real.waits), `${real.waits}`).toBe(true);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
