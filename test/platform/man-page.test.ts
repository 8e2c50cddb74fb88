import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, inject, test } from 'vitest';
import { createProgram, everyCommand } from '../../src/cli/program.ts';
import { manPage } from '../../tools/docs/man-page.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-man-'));
afterAll(() => rmSync(folder, { recursive: true }));
const page = join(folder, 'headgate.1');
const program = await createProgram();
writeFileSync(page, manPage(program, '2026-11-21'));

const { man, mandoc } = inject('programs');

test.skipIf(mandoc === undefined)('mandoc has no warning', () => {
  const { stdout, stderr, status } = spawnSync(mandoc ?? '', ['-T', 'lint', '-W', 'warning', page]);
  expect(`${stdout}${stderr}`).toBe('');
  expect(status).toBe(0);
});

test.skipIf(man === undefined)('man shows every command and option', () => {
  const env = { ...process.env, MANWIDTH: '500', MANPAGER: 'cat', LC_ALL: 'C.UTF-8' };
  const shown = execFileSync(man ?? '', ['--warnings', '-l', page], { env, encoding: 'utf8' });
  for (const command of everyCommand(program)) {
    if (command.parent === null || command.commands.length > 0) continue;
    expect(shown).toMatch(new RegExp(`^ +headgate .*\\b${command.name()}$`, 'm'));
    for (const { flags } of command.options) expect(shown).toContain(flags);
  }
});
