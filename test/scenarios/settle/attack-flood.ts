/** A flood of tokens that are none, over both channels, while an honest client goes on. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { Client, credentials } from '@grpc/grpc-js';
import { accessLog, STREAM_ACCESS_LOGS } from '../../support/access-logs.ts';
import { waitUntil } from '../../support/eventually.ts';
import type { GatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';
import { residentBytes } from '../../support/resident-memory.ts';
import type { AttackLab } from './attack-lab.ts';

interface Flood {
  readonly lab: AttackLab;
  readonly add: (attack: string, tries: number, outcome: string) => void;
  readonly must: (isSo: boolean, rule: string) => void;
}

const BATCH = 100;
const AT_ONCE = 4;
const MOST_GROWTH = 64 * 1024 * 1024;
const TICKS_PER_SECOND = 100;

/** Half are no tokens, half have the key of the gateway and a wrong signature: those cost the most. */
function garbageOf(valid: string, i: number): string {
  if (i % 2 === 0) return `garbage ${i}`;
  return valid.slice(0, -8) + String(i).padStart(8, '0');
}

export async function floodOf({ lab, add, must }: Flood, count: number): Promise<void> {
  const [gateway] = lab.gateways as [GatewayProcess];
  const valid = String(await lab.token('flooding'));
  const channels = {
    'POST /settle': () => overHttp(lab, gateway, (i) => garbageOf(valid, i), count),
    ALS: () => overLogs(gateway, (i) => garbageOf(valid, i), count),
  };
  const timesOf = async (meanwhile: () => Promise<void>) => {
    const { wrong, ...times } = await honestTimes(gateway, meanwhile);
    must(wrong.length === 0, `honest clients were answered ${wrong[0]} during a flood`);
    return { p50: times.p50.toFixed(1), p99: times.p99.toFixed(1) };
  };
  for (const [name, flood] of Object.entries(channels)) {
    const alone = await timesOf(async () => {});
    const [before, cpuBefore] = [residentBytes(gateway.pid), cpuSeconds(gateway.pid)];
    let forged = 0;
    const times = await timesOf(async () => {
      forged = await flood();
    });
    const cpuUs = (1e6 * (cpuSeconds(gateway.pid) - cpuBefore)) / count;
    const grown = residentBytes(gateway.pid) - before;
    must(forged === count, `${count - forged} of ${count} tokens of a flood were not refused`);
    must(grown < MOST_GROWTH, `a flood over ${name} takes ${grown} bytes`);
    add(
      `flood of garbage, ${name}`,
      count,
      `all refused; ${cpuUs.toFixed(1)} µs of CPU each, ${(grown / 2 ** 20).toFixed(0)} MiB more; ` +
        `honest check and report p50 ${times.p50} ms (alone ${alone.p50}), p99 ${times.p99} ms (alone ${alone.p99})`,
    );
  }
}

async function overHttp(
  lab: AttackLab,
  gateway: GatewayProcess,
  garbage: (i: number) => string,
  count: number,
): Promise<number> {
  let [next, refused] = [0, 0];
  const senders = Array.from({ length: AT_ONCE }, async () => {
    while (next < count) {
      const first = next;
      next += BATCH;
      const size = Math.min(BATCH, count - first);
      const reports = Array.from({ length: size }, (_, j) => ({ token: garbage(first + j) }));
      const results = await lab.settle(reports, gateway);
      refused += results.filter((each) => each === 'forged' || each === 'malformed').length;
    }
  });
  await Promise.all(senders);
  return refused;
}

async function overLogs(
  { grpcPort, opsUrl }: GatewayProcess,
  garbage: (i: number) => string,
  count: number,
): Promise<number> {
  const refused = async () => {
    const { body } = await call(opsUrl, '/metrics');
    const found = body.matchAll(
      /^headgate_settlements_total\{[^}]*envoy[^}]*(?:forged|malformed)"\} (\d+)$/gm,
    );
    return [...found].reduce((sum, [, value]) => sum + Number(value), 0);
  };
  const client = new Client(`127.0.0.1:${grpcPort}`, credentials.createInsecure());
  const same = (message: Buffer) => message;
  const ended = Promise.withResolvers<void>();
  const stream = client.makeClientStreamRequest(STREAM_ACCESS_LOGS, same, same, () =>
    ended.resolve(),
  );
  for (let first = 0; first < count; first += BATCH) {
    const size = Math.min(BATCH, count - first);
    const logged = Array.from({ length: size }, (_, j) => ({ token: garbage(first + j) }));
    const isTaken = stream.write(accessLog(...logged));
    if (!isTaken) await new Promise((resolve) => stream.once('drain', resolve));
  }
  stream.end();
  await ended.promise;
  await waitUntil('the flood is read', async () => (await refused()) >= count).catch(() => {});
  client.close();
  return await refused();
}

/** Milliseconds. */
interface HonestTimes {
  readonly p50: number;
  readonly p99: number;
  /** Answers that should have been another. */
  readonly wrong: readonly string[];
}

/** In a thread, so that the work of the attacker does not delay it. */
async function honestTimes({ url }: GatewayProcess, meanwhile: () => Promise<void>) {
  const worker = new Worker(new URL('honest-client.ts', import.meta.url), { workerData: { url } });
  const posted = once(worker, 'message') as Promise<[HonestTimes]>;
  await Promise.all([once(worker, 'online'), meanwhile()]);
  worker.postMessage('end');
  const [times] = await posted;
  await worker.terminate();
  return times;
}

/** From proc(5): user and system time. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
