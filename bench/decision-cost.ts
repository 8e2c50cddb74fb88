/**
 * What does an allowed decision cost the gateway, against an empty answer of the same Fastify?
 *
 * 64 connections, 10,000 clients, one limit. The servers take turns, so that a noisy machine is noisy for all of them.
 * Needs wrk and redis-server on the PATH.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startGateway } from '../test/support/gateway.ts';
import { accepting, freePort, startProcess } from '../test/support/process.ts';
import { applyLoad, type Measured, median } from './support/load.ts';

const ROUNDS = 5;
const SECONDS = 3;
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
const policies = join(folder, 'policies.yaml');
writeFileSync(policies, '{ version: 1, default: { limits: [1000000/1h] } }');
const redisPort = await freePort();
const redis = startProcess('redis-server', ['--port', String(redisPort), '--save', '']);
await accepting(redisPort, redis);
const barePort = await freePort();
const bare = startProcess(process.execPath, [here('support/bare-server.ts'), String(barePort)]);
await accepting(barePort, bare);
const inMemory = await startGateway({ HEADGATE_POLICIES: policies });
const inRedis = await startGateway({
  HEADGATE_POLICIES: policies,
  HEADGATE_REDIS_URL: `redis://127.0.0.1:${redisPort}`,
});

const servers = [
  { name: 'empty 200', url: `http://127.0.0.1:${barePort}/envoy/`, pids: [bare.pid] },
  { name: 'memory store', url: `${inMemory.url}/envoy/`, pids: [inMemory.pid] },
  { name: 'Redis store', url: `${inRedis.url}/envoy/`, pids: [inRedis.pid, redis.pid] },
];
const rounds = new Map<string, Measured[]>(servers.map(({ name }) => [name, []]));
for (let round = 0; round <= ROUNDS; round++) {
  for (const { name, url, pids } of servers) {
    const load = { url, connections: 64, seconds: SECONDS, script: here('support/clients.lua') };
    const measured = applyLoad(load, pids);
    // The first round warms up.
    if (round > 0) rounds.get(name)?.push(measured);
  }
}
for (const each of [inMemory, inRedis, bare, redis]) await each.stop();
rmSync(folder, { recursive: true });

const cpuOf = (name: string, i = 0) =>
  (rounds.get(name) ?? []).map(({ cpuMicros }) => cpuMicros[i] ?? 0);
const floor = cpuOf('empty 200');
console.log(
  `${cpus().length} x ${cpus()[0]?.model}, Node ${process.versions.node}, ${ROUNDS} rounds`,
);
console.table(
  Object.fromEntries(
    servers.map(({ name }) => {
      const cpu = cpuOf(name);
      const ratios = cpu.map((micros, round) => micros / (floor[round] ?? Number.NaN));
      const figures = {
        'CPU us/request': median(cpu).toFixed(1),
        spread: `${Math.min(...cpu).toFixed(1)} to ${Math.max(...cpu).toFixed(1)}`,
        'against empty': median(ratios).toFixed(2),
        'Redis CPU us': name === 'Redis store' ? median(cpuOf(name, 1)).toFixed(1) : '',
        'requests/s': Math.round(median((rounds.get(name) ?? []).map((m) => m.requestsPerSecond))),
      };
      return [name, figures];
    }),
  ),
);
