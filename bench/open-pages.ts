/**
 * What do open pages of the ops server cost a gateway?
 *
 * Two gateways on one Redis, with traffic for each policy. Ten pages at the first one ask for the overview and for the
 * denied clients every two seconds, each at its own time. Turns with pages and without take turns.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startGatewayProcess } from '../test/support/gateway.ts';
import { call } from '../test/support/http.ts';
import { printTable, spread } from '../tools/table.ts';
import { cpuMicrosOf } from './support/cpu.ts';
import { createLab } from './support/lab.ts';

const PAGES = 10;
const EVERY_MS = 2_000;
const TURN_MS = 4_000;
const ROUNDS = 3;

await using lab = createLab();
const redis = await lab.redis();
const rows = [];
const sizes = process.argv.slice(2).map(Number);
for (const policies of sizes.length > 0 ? sizes : [5, 20, 200]) rows.push(await measured(policies));
printTable(rows);

async function measured(policies: number) {
  const names = Array.from({ length: policies - 1 }, (_, i) => `p${i}`);
  const text = [
    'version: 1',
    'default: { limits: [1/1h] }',
    'policies:',
    ...names.map((name) => `  - { name: ${name}, match: { path: /${name} }, limits: [1/1h] }`),
  ].join('\n');
  const env = {
    HEADGATE_POLICIES: `${lab.folder({ 'policies.yaml': text })}/policies.yaml`,
    HEADGATE_REDIS_URL: redis.url(policies % 16),
    HEADGATE_STORE_TIMEOUT_MS: '1000',
  };
  await using asked = await startGatewayProcess(env);
  await using other = await startGatewayProcess(env);
  for (const gateway of [asked, other]) {
    for (const name of [...names, 'other', ...names]) await call(gateway.url, `/envoy/${name}`);
  }
  // Until the steps with this traffic have ended.
  await sleep(6_500);
  const { body } = await call(asked.opsUrl, '/v1/overview');
  await poll(asked.opsUrl, TURN_MS);
  const alone: number[] = [];
  const [atAsked, atOther]: [number[], number[]] = [[], []];
  for (let i = 0; i < ROUNDS; i++) {
    const [idle] = await costOf([asked.pid], () => sleep(TURN_MS));
    const [busy = 0, peer = 0] = await costOf([asked.pid, other.pid], () =>
      poll(asked.opsUrl, TURN_MS),
    );
    alone.push(idle ?? 0);
    atAsked.push(busy);
    atOther.push(peer);
  }
  return {
    policies: String(policies),
    'overview, KB': (body.length / 1_000).toFixed(0),
    'no page, % of a core': spread(alone, 2),
    [`${PAGES} pages`]: spread(atAsked, 2),
    'the other gateway': spread(atOther, 2),
  };
}

/** In percent of a core. */
async function costOf(pids: readonly number[], work: () => Promise<unknown>): Promise<number[]> {
  const before = pids.map((pid) => cpuMicrosOf(pid));
  const startMs = performance.now();
  await work();
  const tookMs = performance.now() - startMs;
  return pids.map((pid, i) => (100 * (cpuMicrosOf(pid) - (before[i] ?? 0))) / 1_000 / tookMs);
}

async function poll(opsUrl: string, forMs: number): Promise<void> {
  const page = async (delayMs: number) => {
    await sleep(delayMs);
    for (let i = 0; i < forMs / EVERY_MS; i++) {
      const nextMs = performance.now() + EVERY_MS;
      await Promise.all(['/v1/overview', '/v1/clients/top'].map((path) => call(opsUrl, path)));
      await sleep(nextMs - performance.now());
    }
  };
  const pages = Array.from({ length: PAGES }, (_, i) => page((i * EVERY_MS) / PAGES));
  await Promise.all(pages);
}
