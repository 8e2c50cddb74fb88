/**
 * What do open pages of the ops server cost a gateway?
 *
 * Two gateways on one Redis, with traffic for each policy and 40 denied clients. Ten pages at the first one ask every two
 * seconds, each at its own time: for the overview, or for the overview and who is denied. They take turns with no page.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startGatewayProcess } from '../test/support/gateway.ts';
import { call } from '../test/support/http.ts';
import { printTable, type Row, spread } from '../tools/table.ts';
import { cpuMicrosOf } from './support/cpu.ts';
import { createLab } from './support/lab.ts';
import { machineLine } from './support/machine.ts';

const PAGES = 10;
const EVERY_MS = 2_000;
const TURN_MS = 4_000;
const ROUNDS = 3;
const CLIENTS = 40;
const VIEWS = {
  'no page': [],
  'the overview': ['/v1/overview'],
  'the overview and who is denied': ['/v1/overview', '/v1/clients/top'],
} as const;
type View = keyof typeof VIEWS;

await using lab = createLab();
const redis = await lab.redis();
const sizes = process.argv.slice(2).map(Number);
const rows: Row[] = [];
for (const policies of sizes.length > 0 ? sizes : [20, 200])
  rows.push(...(await measure(policies)));
console.log(machineLine());
printTable(rows);

async function measure(policies: number): Promise<Row[]> {
  const names = Array.from({ length: policies - 1 }, (_, i) => `p${i}`);
  const env = {
    HEADGATE_POLICIES: policyFile(names),
    HEADGATE_REDIS_URL: redis.url(policies % 16),
    HEADGATE_STORE_TIMEOUT_MS: '1000',
  };
  await using asked = await startGatewayProcess(env);
  await using other = await startGatewayProcess(env);
  for (const gateway of [asked, other]) {
    for (const [i, name] of [...names, ...names].entries()) {
      const headers = { 'x-headgate-client-ip': `198.51.100.${i % CLIENTS}` };
      for (let n = 0; n < 2; n++) await call(gateway.url, `/envoy/${name}`, { headers });
    }
  }
  // Until the steps with this traffic have ended.
  await sleep(6_500);
  const { body } = await call(asked.opsUrl, '/v1/overview');
  const costs = Object.keys(VIEWS).map((name) => ({
    view: name as View,
    own: [] as number[],
    peer: [] as number[],
  }));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const { view, own, peer } of costs) {
      const [atAsked = 0, atOther = 0] = await costOf([asked.pid, other.pid], () =>
        openPages(asked.opsUrl, VIEWS[view]),
      );
      // The first round warms up.
      if (round === 0) continue;
      own.push(atAsked);
      peer.push(atOther);
    }
  }
  return costs.map(({ view, own, peer }) => ({
    [`${PAGES} pages`]: view,
    policies: String(policies),
    'KB/overview': (body.length / 1_000).toFixed(0),
    'CPU of the gateway, % of a core': spread(own, 2),
    'of the other gateway': spread(peer, 2),
  }));
}

function policyFile(names: readonly string[]): string {
  const text = [
    'version: 1',
    'identity: { trusted_proxies: [loopback] }',
    'default: { limits: [1/1h] }',
    'policies:',
    ...names.map((name) => `  - { name: ${name}, match: { path: /${name} }, limits: [1/1h] }`),
  ].join('\n');
  return `${lab.folder({ 'policies.yaml': text })}/policies.yaml`;
}

/** CPU time in percent of the time that it takes. */
async function costOf(pids: readonly number[], work: () => Promise<unknown>): Promise<number[]> {
  const before = pids.map(cpuMicrosOf);
  const startMs = performance.now();
  await work();
  const tookMs = performance.now() - startMs;
  return pids.map((pid, i) => (cpuMicrosOf(pid) - (before[i] ?? 0)) / 10 / tookMs);
}

async function openPages(opsUrl: string, paths: readonly string[]): Promise<void> {
  const page = async (delayMs: number) => {
    await sleep(delayMs);
    for (let i = 0; i < TURN_MS / EVERY_MS; i++) {
      const nextMs = performance.now() + EVERY_MS;
      await Promise.all(paths.map((path) => call(opsUrl, path)));
      await sleep(nextMs - performance.now());
    }
  };
  await Promise.all(Array.from({ length: PAGES }, (_, i) => page((i * EVERY_MS) / PAGES)));
}
