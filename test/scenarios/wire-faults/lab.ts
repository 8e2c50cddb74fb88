/**
 * A gateway process with one policy for each value of on_store_failure, load for all of them at once, and a record of how
 * each request was answered, and whether that was right.
 *
 * One request in four is exempt. The gateway answers it without Redis, so its wait is the noise of the machine.
 */
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  headerOf,
  type Load,
  type Outcome,
  percentile,
  startLoad,
} from '../../../tools/load/open-loop.ts';
import { type GatewayProcess, startGatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';

/** The shipped default of the maximum time that a request waits for Redis. */
export const DEFAULT_DEADLINE_MS = 50;
/** What a request may take in addition. */
const SLACK_MS = 10;

const POLICIES = ['allow', 'deny', 'local'] as const;
type PolicyName = (typeof POLICIES)[number];
type Asked = PolicyName | 'exempt';
const ASKED: readonly Asked[] = [...POLICIES, 'exempt'];

export type Mode = 'enforced' | 'local' | 'open' | 'closed';
/** The mode of a request that Redis did not count. */
const MODE_WITHOUT_STORE = { allow: 'open', deny: 'closed', local: 'local' } as const;

/** Each policy has another limit, so that a response of another request is noticed. */
const LIMITS = { allow: 999_999, deny: 888_888, local: 777_777 } as const;
const WINDOW_MS = 3_600_000;
const RIGHT_CLOCK_MS = 60_000;
/** A late answer is judged by its wait. After this time a request counts as unanswered. */
const PATIENCE_MS = 20_000;

const KEYS = { client: 'the key of the client', exempt: 'the key that nothing is counted for' };

export interface Lab extends AsyncDisposable {
  readonly gateway: GatewayProcess;
  readonly deadlineMs: number;
  /** Undefined while the gateway runs. */
  readonly crash: string | undefined;
}

export interface Tolerance {
  /** The maximum time that a request waits for Redis. On a busy machine a longer one than the default. */
  readonly deadlineMs: number;
  /** Maximum time until Redis counts again. */
  readonly recoverWithinMs: number;
  /** Added to deadline, slack and noise, for a machine that is busy with other things. */
  readonly graceMs: number;
  /** How often a fault is tried if answers come late. Wrong answers are never tried again. */
  readonly attempts: number;
}

export async function openLab(redisUrl: string, deadlineMs: number): Promise<Lab> {
  await using unlessItStarts = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'headgate-wire-faults-'));
  unlessItStarts.defer(() => rm(folder, { recursive: true }));
  const policies = join(folder, 'policies.yaml');
  writeFileSync(policies, policyFile());
  const env = {
    HEADGATE_REDIS_URL: redisUrl,
    HEADGATE_POLICIES: policies,
    HEADGATE_STORE_TIMEOUT_MS: String(deadlineMs),
  };
  const gateway = unlessItStarts.use(await startGatewayProcess(env));
  let isStopping = false;
  let crash: string | undefined;
  void gateway.exited().then((code) => {
    if (!isStopping) crash = `exit code ${code}: ${gateway.output().slice(-1_500)}`;
  });
  unlessItStarts.defer(async () => {
    isStopping = true;
  });
  const started = unlessItStarts.move();
  return {
    gateway,
    deadlineMs,
    get crash() {
      return crash ?? crashIn(gateway.output());
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** A gateway that crashes logs this before it exits. */
function crashIn(output: string): string | undefined {
  return output.split('\n').find((line) => line.includes('"event":"crashed"'));
}

function policyFile(): string {
  const keys = Object.entries(KEYS).map(([id, key]) => ({ id, sha256: hash('sha256', key) }));
  const policy = (name: PolicyName) => ({
    name,
    match: { path: `/${name}` },
    limits: [`${LIMITS[name]}/1h`],
    on_store_failure: name,
  });
  return JSON.stringify({
    version: 1,
    identity: { api_key: { keys } },
    exempt: [{ key: 'exempt' }],
    default: { limits: ['1/1h'] },
    policies: POLICIES.map(policy),
  });
}

/** A request and its answer. */
export interface Answered {
  readonly asked: Asked;
  readonly dueMs: number;
  readonly tookMs: number;
  readonly status: number;
  readonly mode: Mode;
  readonly remaining: number | undefined;
  /** Why this answer is wrong, whatever Redis did. */
  readonly wrong: string | undefined;
}

export interface Record {
  readonly answers: readonly Answered[];
  readonly load: Load;
}

export interface RecordOptions {
  readonly perSecond: number;
  /** What remains of each limit, if Redis always replies the same. */
  readonly remaining?: (limit: number) => number;
}

/** Sends the four kinds of requests in turn, until the load is stopped. */
export function record({ gateway }: Lab, { perSecond, remaining }: RecordOptions): Record {
  const answers: Answered[] = [];
  const load = startLoad({
    url: gateway.url,
    perSecond,
    patienceMs: PATIENCE_MS,
    request: (i) => ({
      path: `/envoy/${askedBy(i) === 'exempt' ? 'allow' : askedBy(i)}`,
      headers: { 'x-api-key': askedBy(i) === 'exempt' ? KEYS.exempt : KEYS.client },
    }),
    onOutcome: (outcome) => answers.push(answered(outcome, remaining)),
  });
  return { answers, load };
}

function askedBy(i: number): Asked {
  return ASKED[i % ASKED.length] as Asked;
}

function answered(outcome: Outcome, expected: RecordOptions['remaining']): Answered {
  const { i, dueMs, tookMs, status } = outcome;
  const asked = askedBy(i);
  const mode = (headerOf(outcome, 'x-ratelimit-mode') ?? 'enforced') as Mode;
  const text = headerOf(outcome, 'x-ratelimit-remaining');
  const remaining = text === undefined ? undefined : Number(text);
  const wrong =
    whatIsWrong(outcome, asked, mode, remaining) ??
    whatWasNotSaid(asked, mode, remaining, expected);
  return { asked, dueMs, tookMs, status, mode, remaining, wrong };
}

function whatIsWrong(
  outcome: Outcome,
  asked: Asked,
  mode: Mode,
  remaining: number | undefined,
): string | undefined {
  const { status, error } = outcome;
  if (status === 0) return `unanswered: ${error}`;
  if (status >= 500) return `answered ${status}`;
  if (asked === 'exempt') return status === 200 ? undefined : `exempt, and answered ${status}`;
  if (mode !== 'enforced' && mode !== MODE_WITHOUT_STORE[asked]) return `${asked} was ${mode}`;
  if (status !== (mode === 'closed' ? 429 : 200)) return `${asked} was ${mode}, and ${status}`;
  if (mode === 'closed') {
    return headerOf(outcome, 'retry-after') === '1' ? undefined : 'closed, and not for a second';
  }
  if (mode === 'open') return remaining === undefined ? undefined : 'open, and has numbers';
  return whatIsWrongInNumbers(outcome, LIMITS[asked], remaining);
}

function whatIsWrongInNumbers(
  outcome: Outcome,
  limit: number,
  remaining: number | undefined,
): string | undefined {
  const told = Number(headerOf(outcome, 'x-ratelimit-limit'));
  const resetMs = Number(headerOf(outcome, 'x-ratelimit-reset')) * 1_000;
  const inMs = resetMs - Date.now();
  if (told !== limit) return `a limit of ${told} in place of ${limit}`;
  if (remaining === undefined || !(remaining >= 0 && remaining < limit)) {
    return `${remaining} of ${limit} remain after a request`;
  }
  if (Math.abs(inMs - WINDOW_MS) > RIGHT_CLOCK_MS) return `reset in ${inMs} ms, not in an hour`;
  return undefined;
}

function whatWasNotSaid(
  asked: Asked,
  mode: Mode,
  remaining: number | undefined,
  expected: RecordOptions['remaining'],
): string | undefined {
  if (expected === undefined || asked === 'exempt' || mode !== 'enforced') return undefined;
  return remaining === expected(LIMITS[asked]) ? undefined : MIXED;
}

/** The gateway gave a request the reply of another one. */
const MIXED = 'told numbers that are not its own';

export interface Waits {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** What one fault did to requests. */
export interface FaultResult {
  readonly name: string;
  readonly requests: number;
  /** Of requests that need Redis. */
  readonly waits: Waits;
  /** Of exempt requests, at the same time. */
  readonly noise: Waits;
  readonly modes: ReadonlyMap<Mode, number>;
  /** From the end of the fault until Redis counts again. Undefined if it never did. */
  readonly recoveryMs: number | undefined;
  /** Some answer was wrong, not only late. */
  readonly hasWrongAnswers: boolean;
  readonly wrong: readonly string[];
}

/** Tries a fault again if answers were only late: a busy machine is not late every time. */
export async function tryFault<Result extends FaultResult>(
  lab: Lab,
  attempts: number,
  attempt: () => Promise<Result>,
): Promise<Result> {
  let result = await attempt();
  for (let tried = 1; tried < attempts; tried++) {
    if (result.wrong.length === 0 || result.hasWrongAnswers || lab.crash !== undefined) break;
    result = await attempt();
  }
  return result;
}

/** The maximum wait of a request that needs Redis, if an exempt one waited so long. */
export function longestWaitMs({ deadlineMs, graceMs }: Tolerance, noiseMs: number): number {
  return deadlineMs + SLACK_MS + graceMs + noiseMs;
}

/** Of requests that need Redis, or of exempt ones. */
export function waitsOf(answers: readonly Answered[], isExempt: boolean): Waits {
  const waitsMs = answers
    .filter(({ asked }) => (asked === 'exempt') === isExempt)
    .map(({ tookMs }) => tookMs);
  return {
    p50Ms: percentile(waitsMs, 0.5),
    p99Ms: percentile(waitsMs, 0.99),
    maxMs: percentile(waitsMs, 1),
  };
}

/** How many requests that need Redis were answered in each mode. */
export function modesOf(answers: readonly Answered[]): ReadonlyMap<Mode, number> {
  const modes = new Map<Mode, number>();
  for (const { asked, status, mode } of answers) {
    if (asked === 'exempt' || status === 0) continue;
    modes.set(mode, (modes.get(mode) ?? 0) + 1);
  }
  return modes;
}

/** Each kind of wrong answer, with its number. */
export function wrongsOf(answers: readonly Answered[]): string[] {
  const counts = new Map<string, number>();
  for (const { wrong } of answers) {
    // With their numbers, no two would be of one kind.
    const kind = wrong?.replace(/\d{4,}/g, 'so many');
    if (kind !== undefined) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return [...counts].map(([kind, count]) => `${count} x ${kind}`);
}

/** Redis is back when it has counted so many requests in a row. */
const BACK_AFTER = 12;

/** The first answer of many in a row that Redis counted, by performance.now(). */
function backAtMs(answers: readonly Answered[], sinceMs: number): number | undefined {
  let row = 0;
  let firstMs = 0;
  for (const { asked, dueMs, tookMs, mode } of answers) {
    if (asked === 'exempt' || dueMs < sinceMs) continue;
    if (mode !== 'enforced') row = 0;
    else if (row++ === 0) firstMs = dueMs + tookMs;
    if (row === BACK_AFTER) return firstMs;
  }
  return undefined;
}

/** Resolves to the time until Redis counted again, or to undefined if it did not within the limit. */
export async function waitUntilBack(
  { answers }: Record,
  sinceMs: number,
  withinMs: number,
): Promise<number | undefined> {
  for (const endMs = sinceMs + withinMs; performance.now() < endMs; ) {
    const backMs = backAtMs(answers, sinceMs);
    if (backMs !== undefined) return backMs - sinceMs;
    await sleep(25);
  }
  return undefined;
}

/** From /metrics; empty if the gateway has crashed. */
export interface Measures {
  /** Round trips to Redis that failed, by reason. */
  readonly storeErrors: ReadonlyMap<string, number>;
  readonly residentBytes: number;
}

export async function measuresOf({ gateway }: Lab): Promise<Measures> {
  const text = await call(gateway.opsUrl, '/metrics').then(
    ({ body }) => body,
    () => '',
  );
  const lines = text.matchAll(/^headgate_store_errors_total\{reason="(\w+)"\} (\d+)$/gm);
  return {
    storeErrors: new Map(Array.from(lines, ([, reason = '', count]) => [reason, Number(count)])),
    residentBytes: Number(/^process_resident_memory_bytes (\d+)/m.exec(text)?.[1] ?? 0),
  };
}
