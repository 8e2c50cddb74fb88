/** The long form: volleys at the edge of the idle time through every proxy, long idle times, and bursts. */
import { setTimeout as sleep } from 'node:timers/promises';
import { printTable } from '../../../tools/table.ts';
import type { GatewayProcess } from '../../support/gateway.ts';
import { findProgram } from '../../support/programs.ts';
import { silentLifeMs } from '../hostile/run.ts';
import { defineScenario } from '../scenario.ts';
import {
  DEFAULT_IDLE_MS,
  EDGE_MS,
  type EdgeRun,
  IDLE_MS,
  type IdleRun,
  LONGEST_IDLE_MS,
  meetsBothSides,
  PROXIES,
  type ProxyName,
  type RelaySums,
  runBursts,
  runEdge,
  runIdle,
  startUnlimitedGateway,
} from './run.ts';

/** One longer than callers may take, and one longer than each proxy's idle time but Envoy's hour. */
const IDLES_MS = [6_500, 61_000, 75_000, 91_000, 121_000];
const CONNECTIONS = 50;
const BURSTS = 120;
const SILENT_CONNECTIONS = 20;
/** The gateway looks for them once a second: so they meet every moment of that. */
const SILENT_EVERY_MS = 137;
const WATCHED_MS = 10_000;

export const scenario = defineScenario({
  proves: 'no proxy ever sends a request on a connection that the gateway is closing',
  takes: '10 min',
  options: {
    volleys: { default: 110, least: 3, help: 'volleys of 16 requests at the end of the idle time' },
  },
  async prove({ volleys }) {
    const names = proxiesHere();
    await using gateway = await startUnlimitedGateway();
    const [edges, idles, silentLivesMs] = await Promise.all([
      Promise.all(names.map((name) => runEdge(name, volleys))),
      Promise.all(IDLES_MS.map((idleMs) => runIdle(gateway, idleMs, CONNECTIONS))),
      Promise.all(Array.from({ length: SILENT_CONNECTIONS }, (_, i) => silentLife(gateway, i))),
    ]);
    // One at a time and last, because bursts delay everything else.
    const bursts: RelaySums[] = [];
    for (const name of names) bursts.push(await runBursts(name, BURSTS));
    printEdges(names, edges);
    printIdles(idles);
    printBursts(names, bursts, silentLivesMs);
    return [...edges.flatMap((run, i) => wrongOfEdge(names[i], run)), ...wrongOfIdles(idles)];
  },
});

function proxiesHere(): ProxyName[] {
  return (Object.keys(PROXIES) as ProxyName[]).filter((name) => {
    const isHere = findProgram(name) !== undefined;
    if (!isHere) console.log(`without ${name}, which is not installed`);
    return isHere;
  });
}

async function silentLife({ url }: GatewayProcess, i: number): Promise<number> {
  await sleep(i * SILENT_EVERY_MS);
  return silentLifeMs(url, WATCHED_MS);
}

function printEdges(names: readonly ProxyName[], edges: readonly EdgeRun[]): void {
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
      'resets in its log': String(run.resets.length),
      'closed by the gateway': String(run.closedByGateway),
    })),
  );
}

function printIdles(idles: readonly IdleRun[]): void {
  console.log('\nconnections that are used again after an idle time\n');
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
}

function printBursts(
  names: readonly ProxyName[],
  bursts: readonly RelaySums[],
  silentLivesMs: readonly number[],
): void {
  const [least, most] = [Math.min(...silentLivesMs), Math.max(...silentLivesMs)];
  console.log(
    `\na connection that sends nothing is closed after ${seconds(least)} to ${seconds(most)}.\n` +
      'Connections opened in bursts, for requests that other connections have served by then:\n',
  );
  printTable(
    bursts.map(({ connections, unused }, i) => ({
      proxy: names[i] as string,
      connections: String(connections),
      'never used': String(unused),
    })),
  );
}

function wrongOfEdge(name: ProxyName | undefined, run: EdgeRun): string[] {
  const rules = meetsBothSides(run) ? run.wrong : [...run.wrong, 'both sides of the edge are met'];
  return rules.map((rule) => `${name}: ${rule}`);
}

function wrongOfIdles(idles: readonly IdleRun[]): string[] {
  const wrong = idles
    .filter(({ connections, answered }) => answered < connections)
    .map(
      ({ idleMs, connections, answered }) =>
        `after ${idleMs} ms all of ${connections} are answered: ${answered}`,
    );
  const keptMs = Math.min(...idles.map((run) => run.keptMs));
  if (keptMs <= LONGEST_IDLE_MS) wrong.push('the gateway keeps connections longer than any proxy');
  return wrong;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
