/** The long form: 100,000 hostile requests, connections that never send one, and thousands of idle ones. Linux only. */
import { readdirSync, readFileSync } from 'node:fs';
import { printTable, type Row } from '../../../tools/table.ts';
import { type GatewayProcess, startGatewayProcess } from '../../support/gateway.ts';
import { residentBytes } from '../../support/resident-memory.ts';
import { defineScenario } from '../scenario.ts';
import { IDLE_SOCKETS, proveIdle } from './idle-latency.ts';
import { hostileRequests } from './requests.ts';
import {
  FAULTS,
  isLetGoOf,
  LINGERERS,
  type LingererName,
  logFaults,
  offenceLine,
  silentLifeMs,
  slowLifeMs,
  type VolleyResult,
  volley,
} from './run.ts';

const LONGEST_LIFE_MS = 5_000;
/** How long the connections that should be closed are watched. */
const WATCHED_MS = 8_000;
const SPARE_FILES = 100;

interface ProvenGateway extends GatewayProcess {
  /** Also while it is still exiting. */
  hasCrashed(): boolean;
}

export const scenario = defineScenario({
  proves: 'no hostile request crashes a gateway, hangs, or is allowed by mistake',
  takes: '30 s',
  options: {
    requests: { default: 100_000, least: 1, help: 'how many hostile requests' },
    seed: { default: 1, least: 0, help: 'which ones' },
  },
  async prove({ requests, seed }) {
    requireFiles(IDLE_SOCKETS + SPARE_FILES);
    await using started = await startGatewayProcess();
    let hasExited = false;
    void started.exited().then(() => {
      hasExited = true;
    });
    const hasCrashed = () => hasExited || started.output().includes('"event":"crashed"');
    const gateway: ProvenGateway = { ...started, hasCrashed };
    const wrong = await proveVolley(gateway, requests, seed);
    // A gateway that has crashed closes every connection, and fast.
    if (!hasCrashed()) wrong.push(...(await proveLives(gateway)));
    if (!hasCrashed()) wrong.push(...(await proveIdle(gateway)));
    if (hasCrashed()) wrong.push('the gateway lives');
    const faults = logFaults(gateway.output()).map((line) => `the log has no faults: ${line}`);
    return [...wrong, ...faults];
  },
});

/** Node has raised its limit as far as it may, and the gateway inherits it. */
function requireFiles(needed: number): void {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const [, allowed = ''] = /^Max open files +(\w+)/m.exec(limits) ?? [];
  if (Number(allowed) < needed) {
    throw new Error(`this needs ${needed} open files and may have ${allowed}: ulimit -n ${needed}`);
  }
}

async function proveVolley(
  gateway: ProvenGateway,
  requests: number,
  seed: number,
): Promise<string[]> {
  console.log(`${requests} hostile requests of seed ${seed}\n`);
  const [rssBefore, filesBefore] = [rssMiB(gateway), openFiles(gateway)];
  const startedMs = performance.now();
  const result = await volley(gateway.url, hostileRequests(seed, requests), {
    patienceMs: LONGEST_LIFE_MS,
  });
  const seconds = (performance.now() - startedMs) / 1000;
  const filesLeft = await settled(() => openFiles(gateway) - filesBefore);
  const counts: Row = {
    requests: String(result.requests),
    crashes: gateway.hasCrashed() ? '1' : '0',
    ...Object.fromEntries(FAULTS.map((fault) => [fault, String(result.faults[fault])])),
    'connections left': String(filesLeft),
    seconds: seconds.toFixed(1),
    'RSS before': `${rssBefore} MiB`,
    'RSS after': `${rssMiB(gateway)} MiB`,
  };
  printTable(Object.entries(counts).map(([what, figure]) => ({ 'the volley': what, figure })));
  console.log();
  printTable(histogramOf(result));
  console.log();
  const wrong = result.offences.map(offenceLine);
  if (filesLeft > 0) wrong.push(`every connection is closed: ${filesLeft} are not`);
  return wrong;
}

/** What is left after a few seconds, or nothing as soon as there is nothing. */
async function settled(left: () => number): Promise<number> {
  for (const endMs = Date.now() + LONGEST_LIFE_MS; Date.now() < endMs && left() > 0; )
    await new Promise((resolve) => setTimeout(resolve, 50));
  return Math.max(0, left());
}

function histogramOf({ requests: total, firstAnswers }: VolleyResult): Row[] {
  const entries = [...firstAnswers].sort(([a], [b]) => a.localeCompare(b));
  return entries.map(([answer, count]) => ({
    'first answer': answer,
    times: String(count),
    share: `${((100 * count) / total).toFixed(2)} %`,
  }));
}

/** 0 once the process has exited, because it then has neither memory nor files. */
function rssMiB(gateway: ProvenGateway): number {
  return gateway.hasCrashed() ? 0 : Math.round(residentBytes(gateway.pid) / 1024 / 1024);
}

function openFiles(gateway: ProvenGateway): number {
  return gateway.hasCrashed() ? 0 : readdirSync(`/proc/${gateway.pid}/fd`).length;
}

async function proveLives(gateway: GatewayProcess): Promise<string[]> {
  const wrong: string[] = [];
  const [proxies, operators] = await Promise.all([
    livesOn('for proxies', gateway.url, wrong),
    livesOn('for operators', gateway.opsUrl, wrong),
  ]);
  const rows = Object.keys(operators).map((connection) => ({
    connection,
    'port for proxies': proxies[connection] ?? '',
    'port for operators': operators[connection] ?? '',
  }));
  printTable(rows);
  console.log();
  return wrong;
}

/** What became of each connection that never sends a whole request. */
async function livesOn(
  port: string,
  url: string,
  wrong: string[],
): Promise<Record<string, string>> {
  const lives = { silent: silentLifeMs, 'slow headers': slowLifeMs };
  const closed = Object.entries(lives).map(async ([name, lifeMs]) => {
    const life = await lifeMs(url, WATCHED_MS);
    // Proxies open connections before they need them.
    const mayStay = name === 'silent' && port === 'for proxies';
    if (life > LONGEST_LIFE_MS && !mayStay) wrong.push(`the port ${port} closes in time: ${name}`);
    return [name, life < WATCHED_MS ? `closed after ${Math.round(life)} ms` : 'left open'] as const;
  });
  const names = (Object.keys(LINGERERS) as LingererName[]).filter(
    (name) => name !== 'silent' || port !== 'for proxies',
  );
  const letGo = names.map(async (name) => {
    const isGone = await isLetGoOf(url, name, LONGEST_LIFE_MS);
    if (!isGone) wrong.push(`the port ${port} closes what the client never closes: ${name}`);
    return [`${name}, never closed by the client`, isGone ? 'closed' : 'kept'] as const;
  });
  return Object.fromEntries(await Promise.all([...closed, ...letGo]));
}
