/** The scripts of `headgate completion` in the real shells. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createProgram, everyCommand } from '../../src/cli/program.ts';
import { runCommand } from '../support/command.ts';
import { openTerminal } from './support/tmux.ts';

const run = promisify(execFile);
const { tmux, zsh, fish } = inject('programs');
const folder = mkdtempSync(join(tmpdir(), 'headgate-completion-'));
afterAll(() => rmSync(folder, { recursive: true }));
const scriptOf = (shell: string) => join(folder, `script.${shell}`);

beforeAll(async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, stdout } = await runCommand(['completion', shell]);
    expect(code).toBe(0);
    writeFileSync(scriptOf(shell), stdout);
  }
  mkdirSync(join(folder, 'some folder'));
  for (const name of ['policies.yaml', 'policies_test.yaml', 'a b*.yaml'])
    writeFileSync(join(folder, name), '');
});

const commands = (await createProgram()).commands.map((command) => command.name());

/** What is typed, the last word included, and what the shell suggests. */
const SUGGESTIONS: readonly (readonly [typed: string, suggested: readonly string[]])[] = [
  ['headgate ', commands],
  ['headgate ch', ['check']],
  ['headgate clients ', ['top', 'show', 'reset', 'block', 'unblock', 'exempt', 'unexempt']],
  ['headgate clients un', ['unblock', 'unexempt']],
  ['headgate check -o ', ['text', 'json', 'github']],
  ['headgate stats --output j', ['json']],
  ['headgate clients top -o ', ['text', 'json']],
  ['headgate init --with ', ['compose', 'systemd']],
  ['headgate init --proxy envoy', ['envoy', 'envoy-grpc']],
  ['headgate proxy-config --pol', ['--policies']],
  ['headgate proxy-config --policies policies.yaml en', ['envoy', 'envoy-grpc']],
  ['headgate policies mode login sh', ['shadow']],
  // The value of an option is no command.
  ['headgate clients top --limit serve --lim', ['--limit']],
  ['headgate serve --policies policies_', ['policies_test.yaml']],
  ['headgate check a', ['a b*.yaml']],
];

describe('bash', () => {
  /** Calls the function as bash does on Tab. */
  async function suggestions(typed: string): Promise<string[]> {
    const words = typed.split(' ');
    const script = `source '${scriptOf('bash')}'; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _headgate; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const args = ['--norc', '-c', script, 'bash', ...words];
    const { stdout, stderr } = await run('bash', args, { cwd: folder });
    expect(stderr).not.toMatch(/syntax|unbound|not found/);
    return stdout.split('\n').filter((line) => line !== '');
  }

  test.each(SUGGESTIONS)('%j', async (typed, suggested) => {
    expect((await suggestions(typed)).sort()).toEqual([...suggested].sort());
  });

  test('every option of every command is suggested', async () => {
    for (const command of everyCommand(await createProgram())) {
      const path = [command.name()];
      for (let each = command.parent; each !== null; each = each.parent) path.unshift(each.name());
      const flags = command.options.map(({ long }) => long);
      const suggested = await suggestions(`${path.join(' ')} --`);
      expect(suggested, path.join(' ')).toEqual(expect.arrayContaining(flags));
    }
  });

  test('--option=value is completed', async () => {
    // As bash cuts it.
    expect(await suggestions('headgate check --output =')).toEqual(['text', 'json', 'github']);
    expect(await suggestions('headgate check --output = g')).toEqual(['github']);
  });

  test.skipIf(tmux === undefined)('completes on Tab, with quotes for odd file names', async () => {
    const env = {
      PATH: process.env.PATH,
      HOME: folder,
      PS1: '$ ',
      TERM: 'xterm',
      LC_ALL: 'C.UTF-8',
    };
    const size = { columns: 100, rows: 20 };
    await using terminal = await openTerminal(tmux ?? '', { ...size, env, cwd: folder });
    await terminal.enter(`PS1='$ ' exec bash --norc --noprofile`);
    await terminal.enter(`source '${scriptOf('bash')}'; clear; echo sour''ced`);
    await terminal.shows(/^sourced$/);
    await terminal.type('headgate che');
    await terminal.press('Tab');
    await terminal.shows(/^\$ headgate check$/);
    await terminal.type('a');
    await terminal.press('Tab');
    await terminal.shows(/^\$ headgate check a\\ b\\\*\.yaml$/);
  });
});

describe.skipIf(fish === undefined)('fish', () => {
  test.each(SUGGESTIONS)('%j', async (typed, suggested) => {
    const script = `source '${scriptOf('fish')}'; complete -C '${typed}'`;
    const args = ['--no-config', '-c', script];
    const { stdout, stderr } = await run(fish ?? '', args, { cwd: folder });
    expect(stderr).toBe('');
    const lines = stdout.split('\n').filter((line) => line !== '');
    // The word, a tab, and what it means. Fish also suggests words that contain what is typed.
    const last = typed.slice(typed.lastIndexOf(' ') + 1);
    const words = lines.map((line) => line.split('\t')[0] ?? '');
    const beginning = words.filter((word) => word.startsWith(last));
    expect(beginning.sort()).toEqual([...suggested].sort());
  });
});

describe.skipIf(zsh === undefined || tmux === undefined)('zsh', () => {
  test('completes commands, options, choices and files on Tab', async () => {
    const env = {
      PATH: process.env.PATH,
      HOME: folder,
      ZDOTDIR: folder,
      TERM: 'xterm',
      LC_ALL: 'C.UTF-8',
    };
    const size = { columns: 120, rows: 40 };
    await using terminal = await openTerminal(tmux ?? '', { ...size, env, cwd: folder });
    await terminal.enter(`PS1='%% ' exec ${zsh} -f`);
    await terminal.enter(
      `autoload -U compinit; compinit -u -D; source '${scriptOf('zsh')}'; clear; echo sour''ced`,
    );
    await terminal.shows(/^sourced$/);
    const completes = async (typed: string, shown: RegExp) => {
      await terminal.type(typed);
      await terminal.press('Tab');
      await terminal.shows(shown);
      await terminal.press('C-u');
      await terminal.enter('clear');
    };
    await completes('headgate che', /^% headgate check$/);
    await completes('headgate clients unb', /^% headgate clients unblock$/);
    await completes('headgate check --st', /^% headgate check --strict$/);
    await completes('headgate check -o gi', /^% headgate check -o github$/);
    await completes('headgate policies mode login sh', /^% headgate policies mode login shadow$/);
    await completes('headgate check a', /^% headgate check a\\ b\\\*\.yaml$/);
    await completes(
      'headgate clients top --limit 3 --gat',
      /^% headgate clients top --limit 3 --gateway$/,
    );
    await completes('headgate ', /^explain +-- show how a request would be decided/);
  });
});

test('another shell is refused', async () => {
  const { code, stderr } = await runCommand(['completion', 'csh']);
  expect(code).toBe(2);
  expect(stderr).toContain('Allowed choices are bash, zsh, fish');
});
