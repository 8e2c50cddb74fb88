/**
 * Clients whose requests are charged afterwards: their outcomes are reported soon, late, twice, never and wrongly, over both
 * channels of several gateways, while policy files change, counters are reset, and a day ends.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { waitUntil } from '../../support/eventually.ts';
import { call } from '../../support/http.ts';
import { operate } from '../../support/operations.ts';
import { type Admitted, Judge, type Report, reportThatCounted, type Verdict } from './judge.ts';
import { type Lab, type LabOptions, startLab, type TestClient } from './lab.ts';
import { LOGGED_IN, type Outcome, specOf } from './policies.ts';
import { type RedisRecord, recordRedis } from './redis-record.ts';
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
}

/** Checks by each client at the same time. */
const AT_ONCE = 3;
const VERSIONS = 5;
const LARGEST = Number.MAX_SAFE_INTEGER;
const RESERVES = ['0', '1', '7', '90', '1000000', '1e3', '-5', '9007199254740993', undefined];

interface Run {
  readonly lab: Lab;
  readonly record: RedisRecord;
  readonly all: Held[];
  readonly texts: Set<string>;
  readonly held: Held[];
  readonly wrong: string[];
  readonly counts: { requests: number; refused: number; reports: Record<string, number> };
  version: number;
}

interface Held extends Admitted {
  readonly policy: string;
  readonly text: string;
}

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
  const wrong = [...run.wrong.slice(0, 20), ...verdict.wrong, ...whatWasNotTried(verdict, run)];
  return { ...counts, admitted: run.all.length, verdict, read, wrong };
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

function any<T>(values: readonly T[]): T {
  return values[Math.floor(Math.random() * values.length)] as T;
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

function outcomeOf(): Outcome {
  const units = { tokens: Math.floor(Math.random() * 140), pages: Math.floor(Math.random() * 6) };
  return any<Outcome>([
    { status: 200, units },
    { status: 200, units },
    { status: 200, headers: LOGGED_IN, units },
    { status: 204, units },
    { status: 401, headers: { 'x-login': 'failed' }, units },
    { units: { tokens: 0, pages: 0 } },
    // Aborted, or without usage.
    {},
    { status: 500, units: { pears: 5 } },
  ]);
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

/** `twice`: two gateways get different outcomes at the same moment. */
async function report(
  run: Run,
  admitted: Held,
  outcome: Outcome,
  times: 'once' | 'twice',
): Promise<void> {
  const send = async (each: Outcome) => {
    const sentMs = Date.now();
    const { body } = await call(any(run.lab.gateways).url, '/settle', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: admitted.text, ...each }),
      agent: run.lab.agent,
    });
    const verdict = String(JSON.parse(body).result ?? body);
    const made: Report = { outcome: each, version: run.version, verdict };
    admitted.reports.push(made);
    run.counts.reports[verdict] = (run.counts.reports[verdict] ?? 0) + 1;
    checkVerdict(run, admitted, verdict, sentMs);
  };
  await Promise.all(times === 'once' ? [send(outcome)] : [send(outcome), send(outcomeOf())]);
}

function checkVerdict(
  run: Run,
  { token, version }: Admitted,
  verdict: string,
  sentMs: number,
): void {
  const isKnown = token.parts.some(({ digest }) => specOf(run.version, digest) !== undefined);
  const mayEnd = Date.now() >= token.endsMs;
  const allowed = [
    ...(isKnown ? ['settled', 'repeated', 'gone', 'reset'] : ['unknown_limit']),
    ...(mayEnd ? ['ended'] : []),
  ];
  if (allowed.includes(verdict) && !(verdict === 'settled' && sentMs >= token.endsMs)) return;
  run.wrong.push(`a token of version ${version} was answered ${verdict} in version ${run.version}`);
}

/** What Envoy logs, sometimes twice. */
async function reportToLog(run: Run, admitted: Held, outcome: Outcome): Promise<void> {
  const { units, status, headers } = outcome;
  admitted.reports.push({ outcome, version: run.version, verdict: undefined });
  run.counts.reports['over ALS'] = (run.counts.reports['over ALS'] ?? 0) + 1;
  const logged = {
    token: admitted.text,
    ...(units && { units }),
    ...(headers && { headers }),
    // Without one, Envoy made the answer.
    ...(status === undefined ? { details: 'downstream_remote_disconnect' } : { status }),
  };
  const gateway = Math.floor(Math.random() * run.lab.gateways.length);
  run.lab.log(gateway, logged, ...(Math.random() < 0.2 ? [logged] : []));
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

/** The values of the longest windows, which last longer than the run. */
async function compareWithRedis(url: string, { last }: Verdict, wrong: string[]): Promise<number> {
  const redis = new Redis(url);
  let read = 0;
  for (const [key, { value }] of last) {
    if (!key.includes('.3600000.')) continue;
    const found = await redis.get(key);
    if (found !== value) wrong.push(`after the run, ${key} is ${found} in place of ${value}`);
    read++;
  }
  redis.disconnect();
  return read;
}

/** The rest checks that the run has had all that it is about. */
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
