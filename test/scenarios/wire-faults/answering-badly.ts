/** Gateways on a server that answers badly in one way after the other, and well again after each. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type FakeRedis, startFakeRedis } from '../../support/fake-redis.ts';
import type { BadAnswer } from './bad-answers.ts';
import {
  type Answered,
  DEADLINE_MS,
  type Lab,
  type Mode,
  measuresOf,
  modesOf,
  openLab,
  record,
  SLACK_MS,
  type Waits,
  waitsOf,
  waitUntilBack,
  wrongsOf,
} from './lab.ts';

export interface BadAnswersOptions {
  readonly cases: readonly BadAnswer[];
  /** Gateways that share the cases, each with a server of its own. */
  readonly lanes: number;
  readonly perSecond: number;
  readonly recoverWithinMs: number;
  /** On top of deadline, slack and noise, for a machine that is busy with other things. */
  readonly graceMs: number;
}

export interface BadAnswerResult {
  readonly name: string;
  readonly requests: number;
  readonly waits: Waits;
  readonly noise: Waits;
  readonly modes: ReadonlyMap<Mode, number>;
  readonly reasons: ReadonlyMap<string, number>;
  readonly grownBytes: number;
  readonly recoveryMs: number | undefined;
  /** Some answer was wrong, not just late. */
  readonly hasWrongAnswers: boolean;
  readonly wrong: readonly string[];
}

const HOLD_MS = 120;
/** Fewer would say little; on a busy machine they take their time. */
const LEAST_ANSWERS = 16;
const SAY_EVERY_MS = 10;
/** Until connections are made anew. */
const SETTLE_MS = 300;
const PATIENCE_MS = 12_000;
/** The largest reply that is read, twice, and what a process takes anyhow. */
const MOST_GROWTH_BYTES = 64 * 1_024 * 1_024;

/** In the order in which they were done. */
export async function runBadAnswers(options: BadAnswersOptions): Promise<BadAnswerResult[]> {
  const waiting = [...options.cases];
  const results: BadAnswerResult[] = [];
  const work = async () => {
    while (waiting.length > 0) {
      await using fake = await startFakeRedis();
      // One that crashed is replaced.
      await using lab = await openLab(fake.url);
      while (lab.crash === undefined) {
        const next = waiting.shift();
        if (next === undefined) return;
        results.push(await tryTwice(next, lab, fake, options));
      }
    }
  };
  await Promise.all(Array.from({ length: options.lanes }, work));
  return results;
}

/** What is late on a busy machine is not late again; what is wrong is wrong at once. */
async function tryTwice(
  bad: BadAnswer,
  lab: Lab,
  fake: FakeRedis,
  options: BadAnswersOptions,
): Promise<BadAnswerResult> {
  const result = await tryOut(bad, lab, fake, options);
  const isFinal = result.wrong.length === 0 || result.hasWrongAnswers || lab.crash !== undefined;
  return isFinal ? result : tryOut(bad, lab, fake, options);
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
    if (soFar() >= LEAST_ANSWERS || lab.crash !== undefined) break;
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
  const wrong = lab.crash === undefined ? [] : [`the gateway ended: ${lab.crash}`];
  if (calm === undefined) wrong.push('Redis did not count before');
  const wrongAnswers = wrongsOf(answers);
  wrong.push(...wrongAnswers, ...whatIsWrong(bad, seen, during, options));
  return { ...seen, hasWrongAnswers: wrongAnswers.length > 0, wrong };
}

function whatIsWrong(
  bad: BadAnswer,
  seen: Omit<BadAnswerResult, 'wrong' | 'hasWrongAnswers'>,
  during: readonly Answered[],
  { graceMs, recoverWithinMs }: BadAnswersOptions,
): string[] {
  const wrong: string[] = [];
  const { waits, noise, modes, reasons, recoveryMs, grownBytes } = seen;
  const enforced = modes.get('enforced') ?? 0;
  const all = Array.from(modes.values()).reduce((sum, count) => sum + count, 0);
  if (all === 0) wrong.push('nothing was asked meanwhile');
  if (bad.during === undefined && enforced > 0) wrong.push(`${enforced} believed`);
  if (bad.during === 'measured' && enforced < all / 2)
    wrong.push(`only ${enforced} of ${all} counted`);
  if (bad.reasons.length > 0 && !bad.reasons.some((reason) => reasons.has(reason))) {
    wrong.push(`no reason is ${bad.reasons.join(' or ')}`);
  }
  for (const reason of reasons.keys()) {
    if (!isExpected(bad, reason)) wrong.push(`a reason is ${reason}`);
  }
  wrong.push(...whatIsNotCountedLocally(during));
  const barMs = DEADLINE_MS + SLACK_MS + graceMs + noise.maxMs;
  if (waits.maxMs > barMs) wrong.push(`one waited ${waits.maxMs.toFixed(0)} ms`);
  if (recoveryMs === undefined) wrong.push('Redis was not back');
  else if (recoveryMs > recoverWithinMs + noise.maxMs)
    wrong.push(`back after ${recoveryMs.toFixed(0)} ms only`);
  if (grownBytes > MOST_GROWTH_BYTES) wrong.push(`${mebibytes(grownBytes)} MiB more`);
  return wrong;
}

/** On a busy machine, or between two connections, nobody is to blame. */
function isExpected({ reasons, during }: BadAnswer, reason: string): boolean {
  if (reason === 'timeout' || reason === 'connection') return true;
  if (during === 'either') return reason === 'malformed' || reason === 'other';
  return reasons.some((expected) => expected === reason);
}

/** Each local count is one less than another. */
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
