/**
 * docs/recipes: each policy file is free of mistakes and warnings, its tests pass and cover every limit, and a real
 * gateway with that file answers what the page shows.
 */
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { startGateway } from '../support/gateway.ts';
import {
  agree,
  comparable,
  type RecipePage,
  readRecipe,
  runCommands,
  waitsOf,
} from './support/recipe-page.ts';

const FOLDER = new URL('../../docs/recipes/', import.meta.url);
const ALL = globSync('*.md', { cwd: fileURLToPath(FOLDER) }).sort();
/** The pages on moving from another limiter have their own test. */
const PAGES = ALL.filter((page) => page !== 'README.md' && !page.startsWith('from-'));

test('there are recipes, and the index lists each', () => {
  const index = readFileSync(new URL('README.md', FOLDER), 'utf8');
  expect(PAGES.length).toBeGreaterThan(10);
  for (const page of PAGES) expect(index).toContain(`](${page})`);
});

test('docs/how-it-works.md has tests of its pictures', async () => {
  using files = written(readRecipe(new URL('../how-it-works.md', FOLDER)));
  const tested = await runCommand(['test'], { cwd: files.folder });
  expect(tested).toMatchObject({ code: 0, stdout: expect.stringContaining('3 passed') });
});

/** The files of a page, in a folder that is gone afterwards. */
function written(page: RecipePage): Disposable & { readonly folder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-recipe-'));
  writeFileSync(join(folder, 'policies.yaml'), page.policies);
  writeFileSync(join(folder, 'policies_test.yaml'), page.tests);
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

test('docs/charging-afterwards.md has policies without warnings, and answers of a gateway', async () => {
  const page = readRecipe(new URL('../charging-afterwards.md', FOLDER));
  using files = written(page);
  await expectNoWarnings(files.folder);
  await expectShown(page, files.folder);
});

describe.each(PAGES)('docs/recipes/%s', (name) => {
  const page = readRecipe(new URL(name, FOLDER));

  test('has a policy file without warnings, and tests of all its limits', async () => {
    using files = written(page);
    await expectNoWarnings(files.folder);
    const tested = await runCommand(['test', '--min-coverage', '100'], { cwd: files.folder });
    expect(tested).toMatchObject({ code: 0 });
  });

  test('shows what a gateway with its policy file answers', async () => {
    using files = written(page);
    await expectShown(page, files.folder);
  });
});

async function expectNoWarnings(cwd: string): Promise<void> {
  const checked = await runCommand(['check', '--strict', 'policies.yaml'], { cwd });
  expect(checked).toMatchObject({ code: 0 });
}

async function expectShown(page: RecipePage, folder: string): Promise<void> {
  await using gateway = await startGateway({ HEADGATE_POLICIES: join(folder, 'policies.yaml') });
  expect(page.runs.length).toBeGreaterThan(0);
  for (const { commands, shown } of page.runs) {
    const { code, printed } = await runCommands(commands, gateway, folder);
    const [expected, real] = [waitsOf(comparable(shown)), waitsOf(comparable(printed))];
    expect({ code, text: real.text }, commands).toEqual({ code: 0, text: expected.text });
    expect(agree(expected.waits, real.waits), `${expected.waits} and ${real.waits}`).toBe(true);
  }
}
