/** A Redis server of this machine, for tests, proofs and benchmarks. */
import { accepting, freePort, type RunningProcess, startProcess } from './process.ts';

/** Reachable from this machine alone, and without a trace on its disk. */
export const IN_MEMORY = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];

export interface RedisServerOptions {
  /** On the PATH, or where it is. */
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

export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  const { program = 'redis-server', port = await freePort(), cwd = process.cwd() } = options;
  const args = options.args ?? ['--port', String(port), ...IN_MEMORY];
  await using unlessItStarts = new AsyncDisposableStack();
  const server = unlessItStarts.use(startProcess(program, args, { cwd }));
  await accepting(port, server);
  unlessItStarts.move();
  return { ...server, url: `redis://127.0.0.1:${port}`, port };
}
