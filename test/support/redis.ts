/** A real Redis for a test file: from the PATH, else from Docker where an engine answers. */
import { Redis } from 'ioredis';
import { GenericContainer } from 'testcontainers';
import { inject, test } from 'vitest';
import { accepting, freePort, startProcess } from './process.ts';
import { IN_DOCKER } from './provision.ts';

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
/** For tests that stop or freeze the server, or choose its port. */
export const testWithOwnRedis = test.skipIf(!redisIsHere || program === IN_DOCKER);

export async function startRedis(port?: number): Promise<TestRedis> {
  if (program === undefined) throw new Error('tests that need Redis must be skipped without it');
  return program === IN_DOCKER ? startContainer() : startLocal(program, port ?? (await freePort()));
}

/** A plain client for looking at what is stored. */
export function connectTo({ url }: TestRedis): Redis {
  return new Redis(url);
}

async function startLocal(path: string, port: number): Promise<TestRedis> {
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const server = startProcess(path, args);
  await accepting(port, server);
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    signal: server.signal,
    stop: server.stop,
    [Symbol.asyncDispose]: server[Symbol.asyncDispose],
  };
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
