/**
 * Clients whose requests are charged afterwards: their outcomes are reported soon, late, twice, never and wrongly, over both
 * channels of several gateways, while policy files change, counters are reset, and a day ends.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { waitUntil } from '../../support/eventually.ts';
import { call } from '../../support/http.ts';
import { operate } from '../../support/operations.ts';
import { reportThatCounted } from './admitted.ts';
import { Judge, type Verdict } from './judge.ts';
import { type LabOptions, startLab, type TestClient } from './lab.ts';
import { specOf } from './policies.ts';
import { recordRedis } from './redis-record.ts';
import { any, type Held, outcomeOf, type Run, report, reportToLog } from './reporting.ts';
import { readToken } from './token.ts';
import { wrongReports } from './wrong-reports.ts';

export interface SettleOptions extends LabOptions {
  /** Of each version of the policy file. */
  readonly phaseMs: number;
}

export interface SettleRun {
  readonly requests: number;
  readonly admitted: number;
  readonly reports: Readonly<Record<string, number>>;
  /** Forged, cut and foreign tokens, and malformed reports. */
  readonly refused: number;
  readonly verdict: Verdict;
  /** Counters whose last value was read from Redis after the run. */
  readonly read: number;
  readonly wrong: readonly string[];
  /** What the run is about, and has not met: it was too short. */
  readonly untried: readonly string[];
}

/** Checks by each client at the same time. */
const AT_ONCE = 3;
const VERSIONS = 5;
const LARGEST = Number.MAX_SAFE_INTEGER;
const RESERVES = ['0', '1', '7', '90', '1000000', '1e3', '-5', '9007199254740993', undefined];

export async function runSettle(options: SettleOptions): Promise<SettleRun> {
  await using stack = new AsyncDisposableStack();
  const lab = await startLab(options, stack);
  const record = await recordRedis(options.redisUrl);
  stack.defer(() => record.close());
  const counts = { requests: 0, refused: 0, reports: {} };
  const run: Run = {
    lab,
    record,
    all: [],
    texts: new Set(),
    held: [],
    wrong: [],
    counts,
    version: 0,
  };
  for (let version = 0; version < VERSIONS; version++) {
    run.version = version;
    if (version > 0) await lab.load(version);
    if (version % 2 === 1) await resetSome(run);
    const phase = traffic(run, Date.now() + options.phaseMs);
    if (options.beforeMidnight && version === 2) {
      await sleep(options.phaseMs / 3);
      lab.passMidnight();
    }
    await Promise.all([phase, reportLate(run, 0.4)]);
    await logsAreRead(run);
  }
  await reportLate(run, 0.7);
  await record.finish();
  const verdict = new Judge(run.all, record.marks).judge(record.lines);
  const read = await compareWithRedis(options.redisUrl, verdict, run.wrong);
  const wrong = [...run.wrong.slice(0, 20), ...verdict.wrong];
  const untried = whatWasNotTried(verdict, run);
  return { ...counts, admitted: run.all.length, verdict, read, wrong, untried };
}

async function traffic(run: Run, endMs: number): Promise<void> {
  const workers = run.lab.clients.flatMap((client) =>
    Array.from({ length: AT_ONCE }, async () => {
      while (Date.now() < endMs) {
        const admitted = await ask(run, client);
        if (admitted !== undefined) await decideFate(run, admitted);
        await sleep(Math.random() * 60);
      }
    }),
  );
  await Promise.all(workers);
}

async function ask(run: Run, client: TestClient): Promise<Held | undefined> {
  const policy = any(['tokens', 'long', 'login', 'metered']);
  const reserve = policy === 'metered' ? any(RESERVES) : undefined;
  const headers = { ...client.headers, ...(reserve !== undefined && { 'x-reserve': reserve }) };
  const { gateways, agent } = run.lab;
  const { status, headers: answer } = await call(any(gateways).url, `/envoy/${policy}`, {
    headers,
    agent,
  });
  run.counts.requests++;
  if (status === 429) return undefined;
  const text = String(answer['x-headgate-settle'] ?? '');
  if (status !== 200 || text === '') {
    run.wrong.push(`a check was answered ${status} ${text}`);
    return undefined;
  }
  const admitted = { policy, text, token: readToken(text), version: run.version, reports: [] };
  for (const { digest, units } of admitted.token.parts) {
    const spec = specOf(run.version, digest);
    if (spec === undefined) continue;
    const asked = /^\d{1,16}$/.test(reserve ?? '') ? Number(reserve) : (spec.unknown ?? 0);
    const expected = spec.reserve === 'x-reserve' ? asked : (spec.reserve ?? 1);
    if (units !== Math.min(expected, spec.limit) && units !== Math.min(expected, 2 * spec.limit)) {
      run.wrong.push(`${spec.policy} has reserved ${units} in place of ${expected}`);
    }
  }
  if (run.texts.has(text)) run.wrong.push('two requests have one token');
  run.texts.add(text);
  run.all.push(admitted);
  return admitted;
}

async function decideFate(run: Run, admitted: Held): Promise<void> {
  const chance = Math.random();
  if (chance < 0.08) run.held.push(admitted);
  else if (chance < 0.12) return;
  else if (chance < 0.15) {
    // It would use up the longest windows.
    const tokens = admitted.policy === 'long' ? 1_000 : LARGEST;
    await report(run, admitted, { units: { tokens, pages: 20 } }, 'once');
  } else if (chance < 0.25) await report(run, admitted, outcomeOf(), 'twice');
  else if (chance < 0.32) {
    run.counts.refused += await wrongReports(run.lab, admitted.text, (what) =>
      run.wrong.push(what),
    );
    await report(run, admitted, outcomeOf(), 'once');
  } else if (chance < 0.5) await reportToLog(run, admitted, outcomeOf());
  else await report(run, admitted, outcomeOf(), 'once');
}

async function reportLate(run: Run, share: number): Promise<void> {
  for (const each of run.held.splice(0)) {
    if (Math.random() >= share) run.held.push(each);
    else await report(run, each, outcomeOf(), any(['once', 'twice']));
  }
}

/** Waits until Redis has settled what was logged, so that it counts by this version of the policy file. */
async function logsAreRead(run: Run): Promise<void> {
  await waitUntil('the logs are read', async () => {
    await run.record.finish();
    return run.all.every((each) => {
      if (each.reports.every(({ verdict }) => verdict !== undefined)) return true;
      const isKnown = each.token.parts.some(({ digest }) => specOf(run.version, digest));
      return run.record.marks.has(each.token.id) || !isKnown || Date.now() > each.token.endsMs;
    });
  });
}

/** While nothing else happens, so that every request is either before or after it. */
async function resetSome({ lab, wrong, record }: Run): Promise<void> {
  for (const { name } of lab.clients.filter((_, i) => i % 4 < 2)) {
    if (name.startsWith('unlisted')) continue;
    const client = name.startsWith('listed') ? `id:${name}` : name;
    const { status, text } = await operate(any(lab.gateways), 'POST /v1/clients/reset', { client });
    if (status !== 200) wrong.push(`a reset was answered ${status} ${text}`);
  }
  await record.finish();
  const lastMs = Date.now();
  while (Date.now() <= lastMs + 1) await sleep(1);
}

/** The values of the longest windows, which last longer than the run. What is in a bucket may have flowed off since. */
async function compareWithRedis(url: string, { last }: Verdict, wrong: string[]): Promise<number> {
  const redis = new Redis(url);
  let read = 0;
  for (const [key, { value }] of last) {
    if (!/\.3600000\.(fixed|counter)\./.test(key)) continue;
    const found = await redis.get(key);
    if (found !== value) wrong.push(`after the run, ${key} is ${found} in place of ${value}`);
    read++;
  }
  redis.disconnect();
  return read;
}

function whatWasNotTried({ settled, cut, gone, reset }: Verdict, { counts, all }: Run): string[] {
  const never = all.filter((each) => reportThatCounted(each) === undefined).length;
  const { requests, refused, reports } = counts;
  const tried = { settled, cut, gone, reset, refused, never, denied: requests - all.length };
  const missing = Object.entries(tried).filter(([, count]) => count === 0);
  const repeated = reports.repeated ?? 0;
  return [
    ...missing.map(([what]) => `none was ${what}`),
    ...(repeated > 0 ? [] : ['none was repeated']),
  ];
}
