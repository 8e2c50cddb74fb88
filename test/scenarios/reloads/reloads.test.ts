/** Files that are replaced under load, every other time by one with a mistake: the short form of the proof. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { redisIsHere, startRedis, type TestRedis } from '../../support/redis.ts';
import { judgeReloads } from './judge.ts';
import { type Decided, type Kind, type ReloadRecord, type ReloadRun, runReloads } from './run.ts';

const RELOADS = 20;

describe.skipIf(!redisIsHere)('twenty reloads under load', () => {
  let redis: TestRedis;
  let run: ReloadRun;

  beforeAll(async () => {
    redis = await startRedis();
    run = await runReloads({
      redisUrl: redis.url,
      reloads: RELOADS,
      perSecond: 200,
      pauseMs: 150,
      otherPolicies: 0,
      otherKeys: 0,
      // On a busy machine a slow answer is not what this is about.
      storeTimeoutMs: 5_000,
    });
    // Files that remove policies are left alone for seconds.
  }, 240_000);

  afterAll(async () => {
    await redis[Symbol.asyncDispose]();
  });

  test('disturb nobody', () => {
    expect(run.wrong).toEqual([]);
    expect(run.unenforced).toBe(0);
  });

  const denied: Partial<Decided> = { status: 429, remaining: 0 };
  test.each<[string, (record: ReloadRecord) => ReloadRecord]>([
    ['every request is answered', changed('plain', { status: 500 })],
    ['one version of the policy file decides', changed('pair', { policies: [0, 2] })],
    ['what decides was in force', changed('plain', { policies: [1] })],
    ['what decides was in force', changed('plain', { policies: [999] })],
    ['what decides was in force', changed('member', { keys: 9 })],
    ['what decides was in force', swapped('plain')],
    ['counts of a limit that stays go on', changed('kept', { remaining: 40 })],
    ['counts of a limit that stays go on', changed('kept', denied)],
    ['a limit that is raised admits at once', changed('raised', denied)],
    ['a policy of another name counts anew', changed('refused', denied)],
  ])('%s, or the judge says so', (rule, spoilt) => {
    const wrong = judgeReloads(spoilt(run));
    expect(wrong.map((each) => each.slice(0, each.indexOf(':')))).toContain(rule);
  });
});

/** The record, with another first admission of this kind. */
function changed(kind: Kind, change: Partial<Decided>) {
  return ({ steps, decided }: ReloadRecord): ReloadRecord => {
    const index = decided.findIndex((each) => each.kind === kind && each.status === 200);
    return {
      steps,
      decided: decided.with(index, { ...(decided[index] as Decided), ...change }),
    };
  };
}

/** The record, as if the last answer of this kind had come first, and the first one last. */
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
