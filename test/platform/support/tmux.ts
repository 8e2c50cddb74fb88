/** A real terminal with a shell in it, as tmux has them. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { eventually } from '../../support/eventually.ts';

const run = promisify(execFile);

export interface TestTerminal extends AsyncDisposable {
  /** Presses keys by their tmux names: `Enter`, `Tab`, `q`. */
  press(...keys: string[]): Promise<void>;
  /** Types a text. */
  type(text: string): Promise<void>;
  /** Types a command line, and Enter. */
  enter(command: string): Promise<void>;
  /** The same on a cleared screen, so that nothing earlier is taken for what the command shows. */
  enterOnClearScreen(command: string): Promise<void>;
  resize(columns: number, rows: number): Promise<void>;
  /** The lines that it shows now, without spaces at their ends. */
  lines(): Promise<string[]>;
  /** Resolves to the lines once one of them matches. */
  shows(pattern: RegExp): Promise<string[]>;
  /** Whether a program has the screen for itself, and whether the cursor is seen. */
  state(): Promise<{ isAlternate: boolean; hasCursor: boolean }>;
}

export interface TerminalOptions {
  readonly columns: number;
  readonly rows: number;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

/** Longer than a proxy needs to start on a busy machine, and shorter than a test may take. */
const SHOWN_WITHIN_MS = 110_000;
let terminals = 0;

export async function openTerminal(
  tmux: string,
  { columns, rows, env, cwd }: TerminalOptions,
): Promise<TestTerminal> {
  terminals++;
  const socket = `headgate-${process.pid}-${terminals}`;
  const call = async (...args: string[]) => {
    const { stdout } = await run(tmux, ['-L', socket, '-u', '-f', '/dev/null', ...args], {
      env,
      cwd,
    });
    return stdout;
  };
  const size = ['-x', String(columns), '-y', String(rows)];
  await call('new-session', '-d', ...size, 'sh');
  const lines = async () =>
    (await call('capture-pane', '-p'))
      .split('\n')
      .slice(0, -1)
      .map((line) => line.trimEnd());
  const hasPrompt = (shown: readonly string[]) => shown.some((line) => line !== '');
  // What is typed before the shell has set up the terminal can be lost.
  await eventually(lines, hasPrompt, SHOWN_WITHIN_MS, 'a prompt of the shell');
  const type = (text: string) => call('send-keys', '-l', text);
  const press = (...keys: string[]) => call('send-keys', ...keys);
  const enter = async (command: string) => {
    await type(command);
    await press('Enter');
  };
  const isClear = (shown: readonly string[]) => shown.filter((line) => line !== '').length <= 1;
  return {
    press: async (...keys) => void (await press(...keys)),
    type: async (text) => void (await type(text)),
    enter,
    async enterOnClearScreen(command) {
      await enter('clear');
      await eventually(lines, isClear, SHOWN_WITHIN_MS, 'a clear screen');
      await enter(command);
    },
    resize: async (width, height) =>
      void (await call('resize-window', '-x', String(width), '-y', String(height))),
    lines,
    shows: (pattern) =>
      eventually(
        lines,
        (shown) => shown.some((line) => pattern.test(line)),
        SHOWN_WITHIN_MS,
        String(pattern),
      ),
    async state() {
      const [isAlternate, hasCursor] = (
        await call('display-message', '-p', '#{alternate_on} #{cursor_flag}')
      )
        .trim()
        .split(' ');
      return { isAlternate: isAlternate === '1', hasCursor: hasCursor === '1' };
    },
    [Symbol.asyncDispose]: async () => void (await call('kill-server')),
  };
}
