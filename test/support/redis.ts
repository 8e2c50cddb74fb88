/** A real Redis for a test file: from the PATH, else from Docker where an engine answers. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { GenericContainer } from 'testcontainers';
import { inject, test } from 'vitest';
import { IN_DOCKER } from './programs.ts';
import { startRedisServer } from './redis-server.ts';

export interface TestRedis extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Its signals reach a server of this machine; a container has none. */
  signal(signal: NodeJS.Signals): void;
  stop(signal?: NodeJS.Signals): Promise<unknown>;
}

const program = inject('programs')['redis-server'];

/** False only outside CI, where nothing could be installed: what needs Redis is then skipped. */
export const redisIsHere = program !== undefined;
export const testWithRedis = test.skipIf(!redisIsHere);
/** For tests that stop or freeze the server, choose its port or its arguments. */
export const ownRedisIsHere = redisIsHere && program !== IN_DOCKER;
export const testWithOwnRedis = test.skipIf(!ownRedisIsHere);

export async function startRedis(port?: number): Promise<TestRedis> {
  if (program === undefined) throw new Error('tests that need Redis must be skipped without it');
  if (program === IN_DOCKER) return startContainer();
  return startRedisServer({ program, ...(port !== undefined && { port }) });
}

/** The program of this machine with arguments of its own, in a folder that is removed with it. */
export async function startRedisInFolder(
  folder: string,
  port: number,
  args: readonly string[],
): Promise<TestRedis> {
  if (program === undefined || program === IN_DOCKER) throw new Error('use testWithOwnRedis');
  await using unlessItStarts = new AsyncDisposableStack();
  unlessItStarts.defer(() => rmSync(folder, { recursive: true, force: true }));
  const server = await startRedisServer({ program, port, args, cwd: folder });
  // Nothing of it is kept, and one that a test froze would not hear a gentler signal.
  unlessItStarts.defer(async () => void (await server.stop('SIGKILL')));
  const started = unlessItStarts.move();
  return { ...server, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'headgate-redis-'));
}

/** A plain client for looking at what is stored. */
export function connectTo({ url }: TestRedis): Redis {
  return new Redis(url);
}

async function startContainer(): Promise<TestRedis> {
  const container = await new GenericContainer('redis:7.4-alpine').withExposedPorts(6379).start();
  const port = container.getMappedPort(6379);
  return {
    url: `redis://${container.getHost()}:${port}`,
    port,
    signal: () => {
      throw new Error('use testWithOwnRedis');
    },
    stop: () => container.stop(),
    [Symbol.asyncDispose]: async () => void (await container.stop()),
  };
}
