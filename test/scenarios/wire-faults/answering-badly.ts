/** Lets a server give gateways wrong answers, one kind after another, with right answers in between. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type FakeRedis, startFakeRedis } from '../../support/fake-redis.ts';
import type { BadAnswer } from './bad-answers.ts';
import {
  type Answered,
  type FaultResult,
  type Lab,
  longestWaitMs,
  measuresOf,
  modesOf,
  openLab,
  record,
  type Tolerance,
  tryFault,
  waitsOf,
  waitUntilBack,
  wrongsOf,
} from './lab.ts';

export interface BadAnswersOptions extends Tolerance {
  readonly cases: readonly BadAnswer[];
  /** Gateways that share the cases, each with its own server. */
  readonly lanes: number;
  readonly perSecond: number;
}

export interface BadAnswerResult extends FaultResult {
  /** Failed round trips by reason. */
  readonly reasons: ReadonlyMap<string, number>;
  readonly grownBytes: number;
}

const HOLD_MS = 120;
/** A case goes on until so many requests were answered. */
const LEAST_ANSWERS = 16;
const SAY_EVERY_MS = 10;
/** Until connections are open again. */
const SETTLE_MS = 300;
const PATIENCE_MS = 30_000;
/** Twice the largest reply that is read, and the usual growth of a process. */
const MOST_GROWTH_BYTES = 64 * 1_024 * 1_024;

/** Resolves to the results in the order in which the cases ended. */
export async function runBadAnswers(options: BadAnswersOptions): Promise<BadAnswerResult[]> {
  const waiting = [...options.cases];
  const results: BadAnswerResult[] = [];
  const work = async () => {
    while (waiting.length > 0) {
      await using fake = await startFakeRedis();
      // A gateway that crashed is replaced.
      await using lab = await openLab(fake.url, options.deadlineMs);
      while (lab.crash === undefined) {
        const next = waiting.shift();
        if (next === undefined) return;
        const attempt = () => tryOut(next, lab, fake, options);
        results.push(await tryFault(lab, options.attempts, attempt));
      }
    }
  };
  await Promise.all(Array.from({ length: options.lanes }, work));
  return results;
}

async function tryOut(
  bad: BadAnswer,
  lab: Lab,
  fake: FakeRedis,
  options: BadAnswersOptions,
): Promise<BadAnswerResult> {
  const recorded = record(lab, { perSecond: options.perSecond, remaining: (limit) => limit - 1 });
  const calm = await waitUntilBack(recorded, performance.now(), PATIENCE_MS);
  const before = await measuresOf(lab);
  const { answers } = recorded;

  fake.misbehave(bad.fault?.());
  if (bad.meets === 'handshakes') fake.dropConnections();
  const sayer = setInterval(() => bad.says !== undefined && fake.say(bad.says), SAY_EVERY_MS);
  const startMs = performance.now();
  const feltMs = startMs + (bad.meets === 'handshakes' ? SETTLE_MS : 0);
  await sleep(feltMs - startMs + (bad.holdMs ?? HOLD_MS));
  const soFar = () => answers.filter(({ dueMs }) => dueMs >= feltMs).length;
  for (const giveUpMs = startMs + PATIENCE_MS; performance.now() < giveUpMs; await sleep(25)) {
    if (lab.crash !== undefined) break;
    if (soFar() >= LEAST_ANSWERS && (await hasFailedAsExpected(bad, lab, before.storeErrors)))
      break;
  }
  const endMs = performance.now();
  clearInterval(sayer);
  const { residentBytes } = await measuresOf(lab);
  fake.misbehave(undefined);

  const healedMs = performance.now();
  const recoveryMs =
    lab.crash === undefined ? await waitUntilBack(recorded, healedMs, PATIENCE_MS) : undefined;
  await recorded.load.stop();
  const { storeErrors } = await measuresOf(lab);
  const during = answers.filter(({ dueMs, tookMs }) => dueMs >= feltMs && dueMs + tookMs < endMs);
  const seen = {
    name: bad.name,
    requests: answers.length,
    waits: waitsOf(answers, false),
    noise: waitsOf(answers, true),
    modes: modesOf(during),
    reasons: increase(before.storeErrors, storeErrors),
    grownBytes: residentBytes - before.residentBytes,
    recoveryMs,
  };
  const wrong = lab.crash === undefined ? [] : [`the gateway crashed: ${lab.crash}`];
  if (calm === undefined) wrong.push('Redis did not count before');
  const wrongAnswers = wrongsOf(answers);
  wrong.push(...wrongAnswers, ...whatIsWrong(bad, seen, during, options));
  return { ...seen, hasWrongAnswers: wrongAnswers.length > 0, wrong };
}

async function hasFailedAsExpected(
  { reasons }: BadAnswer,
  lab: Lab,
  before: ReadonlyMap<string, number>,
): Promise<boolean> {
  if (reasons.length === 0) return true;
  const more = increase(before, (await measuresOf(lab)).storeErrors);
  return reasons.some((reason) => more.has(reason));
}

function whatIsWrong(
  bad: BadAnswer,
  seen: Omit<BadAnswerResult, 'wrong' | 'hasWrongAnswers'>,
  during: readonly Answered[],
  options: BadAnswersOptions,
): string[] {
  const wrong: string[] = [];
  const { waits, noise, modes, reasons, recoveryMs, grownBytes } = seen;
  const enforced = modes.get('enforced') ?? 0;
  const all = Array.from(modes.values()).reduce((sum, count) => sum + count, 0);
  if (all === 0) wrong.push('no request was answered meanwhile');
  if (bad.during === undefined && enforced > 0)
    wrong.push(`the gateway believed ${enforced} wrong answers`);
  if (bad.during === 'measured' && enforced < all / 2)
    wrong.push(`only ${enforced} of ${all} counted`);
  if (bad.reasons.length > 0 && !bad.reasons.some((reason) => reasons.has(reason))) {
    wrong.push(`no failure has the reason ${bad.reasons.join(' or ')}`);
  }
  for (const reason of reasons.keys()) {
    if (!isExpected(bad, reason)) wrong.push(`a failure has the reason ${reason}`);
  }
  wrong.push(...whatIsNotCountedLocally(during));
  if (waits.maxMs > longestWaitMs(options, noise.maxMs))
    wrong.push(`one request waited ${waits.maxMs.toFixed(0)} ms`);
  if (recoveryMs === undefined) wrong.push('Redis did not count again');
  else if (recoveryMs > options.recoverWithinMs + noise.maxMs)
    wrong.push(`Redis counted again only after ${recoveryMs.toFixed(0)} ms`);
  if (grownBytes > MOST_GROWTH_BYTES) wrong.push(`${mebibytes(grownBytes)} MiB more`);
  return wrong;
}

/** Timeouts and missing connections may happen in every case. */
function isExpected({ reasons, during }: BadAnswer, reason: string): boolean {
  if (reason === 'timeout' || reason === 'connection') return true;
  if (during === 'either') return reason === 'malformed' || reason === 'other';
  return reasons.some((expected) => expected === reason);
}

/** Every request takes one unit of the local limit, so no two see the same remainder. */
function whatIsNotCountedLocally(during: readonly Answered[]): string[] {
  const left = during.filter(({ mode }) => mode === 'local').map(({ remaining }) => remaining);
  return new Set(left).size === left.length ? [] : ['not every local request was counted'];
}

function increase(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const more = new Map<string, number>();
  for (const [reason, count] of after) {
    const grown = count - (before.get(reason) ?? 0);
    if (grown > 0) more.set(reason, grown);
  }
  return more;
}

export function mebibytes(bytes: number): string {
  return (bytes / 1_024 / 1_024).toFixed(0);
}
