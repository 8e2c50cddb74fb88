/** A Redis server of this machine with a folder of its own, which can be killed or frozen and started again there. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { waitUntil } from './eventually.ts';
import { freePort } from './ports.ts';
import { type RedisServer, startRedisServer } from './redis-server.ts';
import { temporaryFolder } from './temporary.ts';

export interface RedisNode extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  signal(signal: NodeJS.Signals): void;
  stop(signal?: NodeJS.Signals): Promise<unknown>;
  /** On the same port and with the files it left, once it was stopped; with other arguments, if there are any. */
  startAgain(args?: readonly string[]): Promise<void>;
}

export interface RedisNodeOptions {
  readonly args: (port: number) => readonly string[];
  /** By default any that is free. */
  readonly port?: number;
  /** Of a user and a password, for who looks at it. */
  readonly account?: string;
  /** In its folder, by their names. */
  readonly files?: (port: number) => Readonly<Record<string, string>>;
}

export async function startRedisNode(options: RedisNodeOptions): Promise<RedisNode> {
  const { args, account, files } = options;
  await using unlessItStarts = new AsyncDisposableStack();
  const cwd = temporaryFolder(unlessItStarts);
  const port = options.port ?? (await freePort());
  for (const [name, text] of Object.entries(files?.(port) ?? {})) {
    writeFileSync(join(cwd, name), text);
  }
  const start = (own: readonly string[]) => startRedisServer({ port, cwd, args: own });
  let server: RedisServer = await start(args(port));
  // Nothing of it is kept, and one that is frozen would not hear a gentler signal.
  unlessItStarts.defer(async () => void (await server.stop('SIGKILL')));
  const started = unlessItStarts.move();
  return {
    url: `redis://${account === undefined ? '' : `${account}@`}127.0.0.1:${port}`,
    port,
    signal: (signal) => server.signal(signal),
    stop: (signal) => server.stop(signal),
    startAgain: async (again = args(port)) => {
      server = await start(again);
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** A client for looking and for faults: it waits for a server that is away no longer than a question should take. */
export function lookAt({ url }: RedisNode): Redis {
  const client = new Redis(url, {
    maxRetriesPerRequest: 0,
    commandTimeout: 1_000,
    retryStrategy: () => 50,
  });
  // What is away is seen by who asks.
  return client.on('error', () => {});
}

/** Waits for what a server must say first. Resolves to when it was so, by performance.now(). */
export async function until(what: string, ask: () => Promise<boolean>): Promise<number> {
  await waitUntil(what, () => ask().catch(() => false));
  return performance.now();
}
