/** A real Redis for a test file: from the PATH, else from Docker where an engine answers. */
import { Redis } from 'ioredis';
import { GenericContainer } from 'testcontainers';
import { inject } from 'vitest';
import { accepting, freePort, type RunningProcess, startProcess } from './process.ts';
import { IN_DOCKER } from './provision.ts';

export interface TestRedis extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** The server's process, where it is one of this machine. */
  readonly process: RunningProcess | undefined;
}

export async function startRedis(port?: number): Promise<TestRedis> {
  const program = inject('programs')['redis-server'] ?? IN_DOCKER;
  return program === IN_DOCKER ? startContainer() : startLocal(program, port ?? (await freePort()));
}

/** A plain client for looking at what is stored. */
export function connectTo({ url }: TestRedis): Redis {
  return new Redis(url, { lazyConnect: false });
}

async function startLocal(program: string, port: number): Promise<TestRedis> {
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const server = startProcess(program, args);
  await accepting(port, server);
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    process: server,
    [Symbol.asyncDispose]: server[Symbol.asyncDispose],
  };
}

async function startContainer(): Promise<TestRedis> {
  const container = await new GenericContainer('redis:7.4-alpine').withExposedPorts(6379).start();
  const port = container.getMappedPort(6379);
  return {
    url: `redis://${container.getHost()}:${port}`,
    port,
    process: undefined,
    [Symbol.asyncDispose]: async () => void (await container.stop()),
  };
}
