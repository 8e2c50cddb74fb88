/** The pages of docs/ name only metrics, alerts, settings and commands that exist. */
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { SETTINGS } from '../../src/gateway/config/settings/settings.ts';

const ROOT = new URL('../../', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, ROOT), 'utf8');
const PAGES = globSync(['docs/*.md', 'docs/recipes/*.md'], { cwd: fileURLToPath(ROOT) }).sort();

const namesIn = (text: string, pattern: RegExp) =>
  new Set([...text.matchAll(pattern)].map(([, name = '']) => name));
const METRICS = namesIn(read('docs/metrics.md'), /^\| `(\w+)` \|/gm);
const ALERTS = namesIn(read('deploy/prometheus/alerts.yaml'), /alert: (\w+)/g);
/** HEADGATE_BOARD_FULL and the like are codes of errors, which the glossary explains. */
const CODES = namesIn(read('docs/ops-api.md') + read('docs/glossary.md'), /`(HEADGATE_[A-Z_]+)`/g);
const program = await createProgram();
const COMMANDS = new Map(
  program.commands.map((command) => [
    command.name(),
    command.commands.map((subcommand) => subcommand.name()),
  ]),
);

/** Blocks of commands, and each code span on a line of its own. */
function codeIn(text: string): string {
  const blocks = [...text.matchAll(/^ *```(?:sh|console)\n(.*?)^ *```$/gms)].map(
    ([, code]) => code,
  );
  const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code);
  return [...blocks, ...spans].join('\n');
}

test('there are names to find', () => {
  for (const names of [METRICS, ALERTS]) expect(names.size).toBeGreaterThan(10);
  expect(COMMANDS.size).toBeGreaterThan(10);
});

describe.each(PAGES)('%s', (page) => {
  const text = read(page);

  test('names metrics and alerts that exist', () => {
    for (const name of namesIn(text, /(?<![\w@$.])(headgate_[a-z_]+)/g))
      expect(METRICS, page).toContain(name.replace(/_(bucket|count|sum)$/, ''));
    for (const name of namesIn(text, /\b(Headgate[A-Z]\w+)/g)) expect(ALERTS).toContain(name);
  });

  test('names settings that exist', () => {
    const settings = SETTINGS.map(({ name }) => name as string);
    for (const name of namesIn(text, /\b(HEADGATE_[A-Z_]+[A-Z])\b/g))
      if (!CODES.has(name)) expect(settings).toContain(name);
  });

  test('names commands that exist', () => {
    for (const [, name = '', next = ''] of codeIn(text).matchAll(
      /^ *(?:\$ )?headgate ([a-z][\w-]*)(?: ([a-z][a-z-]*))?/gm,
    )) {
      expect([...COMMANDS.keys()], page).toContain(name);
      const subcommands = COMMANDS.get(name) ?? [];
      if (subcommands.length > 0 && next !== '') expect(subcommands, page).toContain(next);
    }
  });
});
