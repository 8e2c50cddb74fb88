/** Runs commands of headgate: in this process, one after the other, or as the program if they read standard input. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { format } from 'node:util';
import { run } from '../../src/cli/program.ts';
import { MAIN, NODE } from './tested-command.ts';

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Circumstances {
  /** Besides what this process has; settings of headgate are not inherited. */
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** For standard input. */
  readonly input?: string;
}

/** Commands share `console` and `process`, so they take turns. */
let turn: Promise<unknown> = Promise.resolve();

/** For commands that end by themselves. */
export function runCommand(
  args: readonly string[],
  circumstances: Circumstances = {},
): Promise<CommandResult> {
  if (circumstances.input !== undefined || process.env.TEST_MAIN !== undefined) {
    return runProgram(args, circumstances);
  }
  const result = turn.then(() => runHere(args, circumstances));
  turn = result.catch(() => {});
  return result;
}

async function runHere(
  args: readonly string[],
  { env, cwd = process.cwd() }: Circumstances,
): Promise<CommandResult> {
  const { log, error } = console;
  const { exitCode, env: outerEnv } = process;
  const outerCwd = process.cwd();
  const written = { stdout: '', stderr: '' };
  console.log = (...texts: unknown[]) => {
    written.stdout += `${format(...texts)}\n`;
  };
  console.error = (...texts: unknown[]) => {
    written.stderr += `${format(...texts)}\n`;
  };
  process.env = { ...inheritedEnvironment(), ...env };
  process.exitCode = undefined;
  process.chdir(cwd);
  try {
    await run(['node', 'headgate', ...args]);
    return { code: Number(process.exitCode ?? 0), ...written };
  } finally {
    Object.assign(console, { log, error });
    process.env = outerEnv;
    process.exitCode = exitCode;
    process.chdir(outerCwd);
  }
}

async function runProgram(
  args: readonly string[],
  { env, cwd, input = '' }: Circumstances,
): Promise<CommandResult> {
  const child = spawn(NODE, [MAIN, ...args], {
    env: { ...inheritedEnvironment(), ...env },
    ...(cwd !== undefined && { cwd }),
  });
  const written = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      written[name] += text;
    });
  }
  // Most commands do not read it, and may have ended.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const [code] = await once(child, 'close');
  return { code: code as number | null, ...written };
}

/** Without what would give the output colors. */
function inheritedEnvironment(): NodeJS.ProcessEnv {
  const own = /^(HEADGATE_|(REDIS_URL|FORCE_COLOR|NO_COLOR)$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)));
}
