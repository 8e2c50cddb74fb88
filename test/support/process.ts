/** Child processes of the tests: on free ports, waited for, and ended by their id. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { waitUntil } from './eventually.ts';

export interface RunningProcess extends AsyncDisposable {
  readonly pid: number;
  /** All that it printed so far, on both outputs. */
  output(): string;
  signal(signal: NodeJS.Signals): void;
  /** Resolves to its exit code once it ends by itself. */
  exited(): Promise<number | null>;
  /** Ends it, if it still runs, and resolves to its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** Resolves once the output matches. Rejects when the process ends before it does. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
}

export interface StartOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

const KILL_AFTER_MS = 30_000;

export function startProcess(
  command: string,
  args: readonly string[],
  { env = process.env, cwd = process.cwd() }: StartOptions = {},
): RunningProcess {
  const child = spawn(command, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  }
  // `close` comes after the last output, `exit` may come before it.
  const exited = once(child, 'close').then(([code]) => code as number | null);
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    if (!hasExited(child)) child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
    const code = await exited;
    clearTimeout(timer);
    return code;
  };
  return {
    pid: child.pid ?? -1,
    output: () => text,
    signal: (signal) => void child.kill(signal),
    exited: () => exited,
    stop,
    async printed(pattern) {
      while (true) {
        const match = pattern.exec(text);
        if (match !== null) return match;
        if (hasExited(child)) {
          // Its last output may still be on its way.
          await exited;
          const last = pattern.exec(text);
          if (last !== null) return last;
          throw new Error(`${command} ended before it printed ${pattern}:\n${text}`);
        }
        const heard = new AbortController();
        const next = { signal: heard.signal };
        const data = [once(child.stdout, 'data', next), once(child.stderr, 'data', next)];
        await Promise.race([...data, exited]);
        heard.abort();
        // The listeners are gone; what waited for them says so.
        await Promise.allSettled(data);
      }
    },
    [Symbol.asyncDispose]: async () => void (await stop()),
  };
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Resolves once something accepts connections there. Rejects when the process ends before. */
export async function accepting(port: number, process: RunningProcess): Promise<void> {
  let hasEnded = false;
  const end = () => {
    hasEnded = true;
  };
  process.exited().then(end, end);
  await waitUntil(`something listens on port ${port}`, async () => hasEnded || accepts(port));
  if (hasEnded) throw new Error(`nothing listens on port ${port}:\n${process.output()}`);
}

function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return once(socket, 'connect')
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy());
}
