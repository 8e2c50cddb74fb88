/**
 * A Redis server of this machine, for tests, proofs and benchmarks: the `redis-server` on the PATH. To use another
 * version, or Valkey, name its program: `TEST_REDIS_SERVER=/opt/valkey/bin/valkey-server npx vitest run ...`
 */
import { accessSync, constants } from 'node:fs';
import { freePort } from './ports.ts';
import { accepting, type RunningProcess, startProcess } from './process.ts';

/** Reachable from this machine alone, and without a trace on its disk. */
export const IN_MEMORY = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];

export interface RedisServerOptions {
  /** On the PATH, or where it is; by default the one that the tests were told to use. */
  readonly program?: string;
  readonly port?: number;
  /** In place of those that make it a plain server in memory. */
  readonly args?: readonly string[];
  readonly cwd?: string;
}

export interface RedisServer extends RunningProcess {
  readonly url: string;
  readonly port: number;
}

/** Undefined if no other program was named. Throws an Error if what was named cannot be run. */
export function chosenRedisServer(): string | undefined {
  const program = process.env.TEST_REDIS_SERVER;
  if (program === undefined || program === '') return undefined;
  try {
    accessSync(program, constants.X_OK);
  } catch (cause) {
    throw new Error(`TEST_REDIS_SERVER: ${program} is no program`, { cause });
  }
  return program;
}

export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  const { program = chosenRedisServer() ?? 'redis-server', cwd = process.cwd() } = options;
  const port = options.port ?? (await freePort());
  const args = options.args ?? ['--port', String(port), ...IN_MEMORY];
  await using unlessItStarts = new AsyncDisposableStack();
  const server = unlessItStarts.use(startProcess(program, args, { cwd }));
  await accepting(port, server);
  unlessItStarts.move();
  return { ...server, url: `redis://127.0.0.1:${port}`, port };
}
