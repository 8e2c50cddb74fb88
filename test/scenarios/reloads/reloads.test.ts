/** Files are replaced under load, every other time by one with a mistake: the short form of the scenario. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { redisIsHere, startRedis, type TestRedis } from '../../support/redis.ts';
import type { Replacement } from './files.ts';
import { judgeReloads } from './judge.ts';
import type { Decided, Kind } from './requests.ts';
import { type ReloadRecord, type ReloadRun, runReloads } from './run.ts';

/** Every file and every way. A policy file that is written over takes seven seconds, so the long form has it. */
const REPLACEMENTS: readonly Replacement[] = [
  { file: 'policies', way: 'signalled' },
  { file: 'keys', way: 'written over' },
  { file: 'policies', way: 'renamed over' },
  { file: 'ranges', way: 'mounted' },
  { file: 'policies', way: 'signalled' },
];

describe.skipIf(!redisIsHere)('ten reloads under load', () => {
  let redis: TestRedis;
  let run: ReloadRun;

  beforeAll(async () => {
    redis = await startRedis();
    run = await runReloads({
      redisUrl: redis.url,
      replacements: REPLACEMENTS,
      perSecond: 200,
      pauseMs: 100,
      otherPolicies: 0,
      otherKeys: 0,
      // On a busy machine Redis answers late. This is not about latency.
      storeTimeoutMs: 10_000,
    });
  });

  afterAll(async () => {
    await redis[Symbol.asyncDispose]();
  });

  test('lose no request and no count', () => {
    expect(run.wrong).toEqual([]);
    expect(run.unenforced).toBe(0);
  });

  const denied: Partial<Decided> = { status: 429, remaining: 0 };
  test.each<[string, (record: ReloadRecord) => ReloadRecord]>([
    ['every request is answered', changed('plain', { status: 500 })],
    ['one version of the policy file decides', changed('pair', { policies: [0, 2] })],
    ['the version that decides was in force', changed('plain', { policies: [1] })],
    ['the version that decides was in force', changed('plain', { policies: [999] })],
    ['the version that decides was in force', changed('member', { keys: 9 })],
    ['the version that decides was in force', swapped('plain')],
    ['a limit that stays keeps its counts', changed('kept', { remaining: 40 })],
    ['a limit that stays keeps its counts', changed('kept', denied)],
    ['a limit that is raised admits at once', changed('raised', denied)],
    ['a policy with a new name counts from zero', changed('refused', denied)],
  ])('are judged: %s', (rule, spoilt) => {
    const wrong = judgeReloads(spoilt(run));
    expect(wrong.map((each) => each.slice(0, each.indexOf(':')))).toContain(rule);
  });
});

/** The record with a changed first admission of this kind. */
function changed(kind: Kind, change: Partial<Decided>) {
  return ({ steps, decided }: ReloadRecord): ReloadRecord => {
    const index = decided.findIndex((each) => each.kind === kind && each.status === 200);
    return {
      steps,
      decided: decided.with(index, { ...(decided[index] as Decided), ...change }),
    };
  };
}

/** The record with the versions of the first and the last answer of this kind exchanged. */
function swapped(kind: Kind) {
  return ({ steps, decided }: ReloadRecord): ReloadRecord => {
    const isOfKind = (each: Decided) => each.kind === kind;
    const [first, last] = [decided.findIndex(isOfKind), decided.findLastIndex(isOfKind)];
    const [early, late] = [decided[first] as Decided, decided[last] as Decided];
    return {
      steps,
      decided: decided
        .with(first, { ...early, policies: late.policies })
        .with(last, { ...late, policies: early.policies }),
    };
  };
}
