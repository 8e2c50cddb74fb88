/**
 * How long do headgate's commands take, how long until a gateway answers, and how much memory does it need?
 *
 * The compiled headgate, as the npm package has it. Beside it for scale: Node itself, and empty servers.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../test/support/ports.ts';
import { printTable, spread } from '../tools/table.ts';
import { buildInto } from './support/checkouts.ts';
import { cost, idleMemory, memory, printOutcomes, throughput, times } from './support/columns.ts';
import { cpuMicrosOf, endedChildrenMillis } from './support/cpu.ts';
import { grpcLoad } from './support/grpc-load.ts';
import { createLab } from './support/lab.ts';
import { closedLoop } from './support/load.ts';
import { machineLine } from './support/machine.ts';
import { printTables } from './support/options.ts';
import { type Contestant, interleave } from './support/rounds.ts';

const POLICIES = 'version: 1\ndefault: { limits: [1000000/1h] }\n';
const EMPTY_FASTIFY = `import fastify from 'fastify';
const server = fastify();
server.all('/*', (_request, reply) => reply.send(''));
await server.listen({ host: '127.0.0.1', port: Number(process.env.HEADGATE_PORT) });
`;
const ROUNDS = 7;
const CLIENTS = 100_000;
const LOAD_SECONDS = 10;

interface Program {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

await using lab = createLab();
const redis = await lab.redis();
const folder = lab.folder({ 'policies.yaml': POLICIES, 'empty-fastify.mjs': EMPTY_FASTIFY });
const headgate = buildInto(folder);
const policies = join(folder, 'policies.yaml');
const inherited = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(HEADGATE_|REDIS_URL$|NODE_)/.test(name)),
);

const commands: Program[] = [
  { name: 'node -e 0', args: ['-e', '0'] },
  { name: 'headgate --version', args: [headgate, '--version'] },
  { name: 'headgate check FILE', args: [headgate, 'check', policies] },
];
const settings = {
  HEADGATE_POLICIES: policies,
  HEADGATE_OPS_PORT: '0',
  HEADGATE_GRPC_PORT: '0',
  HEADGATE_DRAIN_MS: '0',
  HEADGATE_STORE_TIMEOUT_MS: '1000',
};
const servers: Program[] = [
  { name: 'empty Fastify', args: [join(folder, 'empty-fastify.mjs')] },
  { name: 'headgate, memory', args: [headgate, 'serve'], env: settings },
  {
    name: 'headgate, Redis',
    args: [headgate, 'serve'],
    env: { ...settings, HEADGATE_REDIS_URL: redis.url() },
  },
];

interface Start {
  readonly wallMs: number;
  readonly cpuMs: number;
}

await printTables({ starts: printStarts, memory: printMemory });

async function printStarts(): Promise<void> {
  console.log(`${machineLine()}; ${ROUNDS} rounds. Median (least to most).\n`);
  const starts = new Map<string, Start[]>([...commands, ...servers].map(({ name }) => [name, []]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const command of commands) keep(command.name, runToEnd(command), round);
    for (const server of servers) keep(server.name, await startAndStop(server), round);
  }
  printTable(
    [...starts].map(([name, each]) => ({
      program: name,
      'wall, ms': spread(
        each.map(({ wallMs }) => wallMs),
        0,
      ),
      'CPU, ms': spread(
        each.map(({ cpuMs }) => cpuMs),
        0,
      ),
    })),
  );

  /** In the first round, files are not in the memory of the kernel yet. */
  function keep(name: string, start: Start, round: number): void {
    if (round > 0) starts.get(name)?.push(start);
  }
}

function runToEnd({ args }: Program): Start {
  const startMs = performance.now();
  const cpuBeforeMs = endedChildrenMillis();
  const { status, stderr } = spawnSync(process.execPath, args, { env: inherited });
  if (status !== 0) throw new Error(`${args.join(' ')} failed: ${stderr}`);
  return {
    wallMs: performance.now() - startMs,
    cpuMs: endedChildrenMillis() - cpuBeforeMs,
  };
}

/** Until it answers its first request. */
async function startAndStop({ args, env }: Program): Promise<Start> {
  const port = await freePort();
  const startMs = performance.now();
  const child = spawn(process.execPath, args, {
    env: { ...inherited, ...env, HEADGATE_PORT: String(port) },
    stdio: 'ignore',
  });
  const exited = once(child, 'exit');
  try {
    while (!(await answers(port))) {
      if (child.exitCode !== null) throw new Error(`${args.join(' ')} ended`);
      await sleep(2);
    }
    return {
      wallMs: performance.now() - startMs,
      cpuMs: cpuMicrosOf(child.pid ?? 0) / 1_000,
    };
  } finally {
    child.kill();
    await exited;
  }
}

async function answers(port: number): Promise<boolean> {
  const headers = { 'x-headgate-client-ip': '10.0.0.1', 'x-headgate-peer-ip': '10.0.0.1' };
  try {
    return (await fetch(`http://127.0.0.1:${port}/envoy/`, { headers })).ok;
  } catch {
    return false;
  }
}

async function printMemory(): Promise<void> {
  const http = closedLoop({ clients: CLIENTS });
  const grpc = grpcLoad({ clients: CLIENTS });
  const outcomes = await interleave(
    [
      {
        name: 'HTTP: empty server, Fastify',
        start: () => lab.server('rivals/empty-hook.ts'),
        load: http,
      },
      {
        name: 'gRPC: empty server, node:http2',
        start: () => lab.server('rivals/empty-http2.ts'),
        load: grpc,
      },
      ...lab.variants.flatMap(({ name, gateway }): Contestant[] => {
        const onRedis = () => gateway(POLICIES, redis.url());
        return [
          { name: `HTTP: ${name}, memory`, start: () => gateway(POLICIES), load: http },
          { name: `HTTP: ${name}, Redis`, start: onRedis, redis, load: http },
          // A function of its own: a process of its own.
          { name: `gRPC: ${name}, Redis`, start: () => onRedis(), redis, load: grpc },
        ];
      }),
    ],
    { rounds: 1, seconds: LOAD_SECONDS, loadIs: `${CLIENTS} clients, 64 requests at a time` },
  );
  const fastify = outcomes[0];
  printOutcomes(
    outcomes,
    idleMemory,
    memory,
    times('RSS, times empty Fastify', fastify, 'residentMib'),
    cost,
    throughput,
  );
}
