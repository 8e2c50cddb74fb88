/**
 * Proves that no proxy ever uses a connection that the gateway is closing. `--volleys` is how many times sixteen requests
 * are sent at the end of each proxy's idle time. Exits with 1 if anything is wrong.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { printTable } from '../../bench/support/table.ts';
import { silentLifeMs } from '../support/hostile-volley.ts';
import {
  DEFAULT_IDLE_MS,
  EDGE_MS,
  IDLE_MS,
  LONGEST_IDLE_MS,
  meetsBothSides,
  PROXIES,
  type ProxyName,
  runBursts,
  runEdge,
  runIdle,
  startUnlimitedGateway,
} from '../support/keep-alive-run.ts';
import { findProgram } from '../support/provision.ts';

/** One longer than callers may take, and one longer than each proxy's idle time but Envoy's hour. */
const IDLES_MS = [6_500, 61_000, 75_000, 91_000, 121_000];
const CONNECTIONS = 50;
const BURSTS = 120;
const SILENT_CONNECTIONS = 20;
/** The gateway looks for them once a second: so they meet every moment of that. */
const SILENT_EVERY_MS = 137;
const WATCHED_MS = 10_000;

const { values } = parseArgs({ options: { volleys: { type: 'string', default: '110' } } });
const volleys = Number(values.volleys);
if (!(Number.isInteger(volleys) && volleys >= 3))
  throw new RangeError('--volleys must be a whole number from 3 on');

const names = (Object.keys(PROXIES) as ProxyName[]).filter((name) => {
  const isHere = findProgram(name) !== undefined;
  if (!isHere) console.log(`without ${name}, which is not here`);
  return isHere;
});
const wrong: string[] = [];
await using gateway = await startUnlimitedGateway();

const [edges, idles, silentLivesMs] = await Promise.all([
  Promise.all(names.map((name) => runEdge(name, volleys))),
  Promise.all(IDLES_MS.map((idleMs) => runIdle(gateway, idleMs, CONNECTIONS))),
  Promise.all(
    Array.from({ length: SILENT_CONNECTIONS }, async (_, i) => {
      await sleep(i * SILENT_EVERY_MS);
      return silentLifeMs(gateway.url, WATCHED_MS);
    }),
  ),
]);
// Bursts would make everything else wait.
const bursts = [];
for (const name of names) bursts.push(await runBursts(name, BURSTS));

console.log(
  `requests ${IDLE_MS} ms after the last ones, give or take ${EDGE_MS} ms; idle time ${IDLE_MS} ms\n`,
);
printTable(
  edges.map((run, i) => ({
    proxy: names[i] as string,
    requests: String(run.requests),
    'on a new connection': String(run.requests - run.reused),
    'on an idle one': String(run.reused),
    failed: String(run.failed),
    'resets it tells of': String(run.resets.length),
    'closed by the gateway': String(run.closedByGateway),
  })),
);
console.log('\nconnections that are used again after so long\n');
printTable(
  idles.map(({ idleMs, connections, answered }) => ({
    'idle for': seconds(idleMs),
    connections: String(connections),
    answered: String(answered),
  })),
);
const keptMs = Math.min(...idles.map((run) => run.keptMs));
console.log(`\nthe gateway keeps an idle connection for ${seconds(keptMs)}\n`);
printTable(
  Object.entries(DEFAULT_IDLE_MS).map(([proxy, idleMs]) => ({
    proxy,
    'keeps it for': seconds(idleMs),
  })),
);
console.log(
  `\na connection that says nothing is closed after ${seconds(Math.min(...silentLivesMs))} to ${seconds(Math.max(...silentLivesMs))}.\n` +
    'Connections that are opened in bursts, for requests that others have served by then:\n',
);
printTable(
  bursts.map(({ connections, unused }, i) => ({
    proxy: names[i] as string,
    connections: String(connections),
    'never used': String(unused),
  })),
);
console.log();

for (const [i, run] of edges.entries()) {
  const rules = meetsBothSides(run) ? run.wrong : [...run.wrong, 'both sides of the edge are met'];
  wrong.push(...rules.map((rule) => `${names[i]}: ${rule}`));
}
for (const { idleMs, connections, answered } of idles) {
  if (answered < connections)
    wrong.push(`after ${idleMs} ms all of ${connections} are answered: ${answered}`);
}
if (keptMs <= LONGEST_IDLE_MS) wrong.push('the gateway keeps connections longer than any proxy');
for (const each of wrong) console.log(`NOT SO, ${each}`);
if (wrong.length === 0) console.log('no resets');
process.exitCode = wrong.length === 0 ? 0 : 1;

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
