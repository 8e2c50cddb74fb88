import { describe, expect, test } from 'vitest';
import { certaintyOf } from '../../../../../src/cli/evidence/suggest/certainty.ts';
import type { Denied } from '../../../../../src/cli/evidence/suggest/measure.ts';
import { byStratum } from '../../../../../src/cli/evidence/suggest/peaks.ts';
import { shareOfTrials } from '../../../../../src/cli/evidence/suggest/statistics.ts';
import type { Stratum } from '../../../../../src/cli/evidence/suggest/strata.ts';

const ENOUGH = {
  ...{ nonBotDays: 3_000, nonBotClients: 1_000, hasOutliers: false },
  peaks: [{ windowMs: 60_000, p90: 5, max: 12 }],
};

function deniedOf(denied: number): Denied {
  return { denied, of: 1_000, ...shareOfTrials(denied, 1_000) };
}

/** Each stratum has a thousand clients. */
function measured(denied: Partial<Record<Stratum, number>> = {}) {
  return byStratum((stratum) => {
    const found = deniedOf(denied[stratum] ?? 0);
    return { clients: found, clientDays: found, requests: found };
  });
}

function choiceOf(change: { limit?: number; measured?: object; heldOut?: object } = {}) {
  const { limit = 20 } = change;
  return {
    isRecommended: true,
    limits: [{ limit, windowMs: 60_000 }],
    measured: measured(change.measured),
    heldOut: change.heldOut && measured(change.heldOut),
  };
}

describe('certainty is', () => {
  test('high with many client-days of many clients', () => {
    expect(certaintyOf(ENOUGH, [choiceOf({ heldOut: {} })])).toBe('high');
    expect(certaintyOf({ ...ENOUGH, nonBotDays: 2_994 }, [choiceOf()])).toBe('fair');
    expect(certaintyOf({ ...ENOUGH, nonBotClients: 299 }, [choiceOf()])).toBe('fair');
  });

  test('low with few client-days or clients', () => {
    expect(certaintyOf({ ...ENOUGH, nonBotDays: 298 }, [choiceOf()])).toBe('low');
    expect(certaintyOf({ ...ENOUGH, nonBotClients: 29 }, [choiceOf()])).toBe('low');
  });

  test('fair at most if a few peaks were cut', () => {
    expect(certaintyOf({ ...ENOUGH, hasOutliers: true }, [choiceOf()])).toBe('fair');
  });

  test('low if the limits deny clients of the days held out', () => {
    expect(certaintyOf(ENOUGH, [choiceOf({ heldOut: { ordinary: 30 } })])).toBe('low');
    expect(certaintyOf(ENOUGH, [choiceOf({ heldOut: { ordinary: 5 } })])).toBe('high');
    expect(certaintyOf(ENOUGH, [choiceOf({ heldOut: { probable_bot: 900 } })])).toBe('high');
  });

  test('low if the limits deny many bots by name, which may be the users of an app', () => {
    expect(certaintyOf(ENOUGH, [choiceOf({ measured: { declared_bot: 100 } })])).toBe('low');
    expect(certaintyOf(ENOUGH, [choiceOf({ measured: { declared_bot: 99 } })])).toBe('high');
    expect(certaintyOf(ENOUGH, [choiceOf({ measured: { probable_bot: 900 } })])).toBe('high');
  });

  test('low if the limits are above a few clients that are far above all others', () => {
    const peaks = [{ windowMs: 60_000, p90: 5, max: 150 }];
    expect(certaintyOf({ ...ENOUGH, peaks }, [choiceOf({ limit: 150 })])).toBe('low');
    expect(certaintyOf({ ...ENOUGH, peaks }, [choiceOf({ limit: 100 })])).toBe('high');
  });

  test('that of the recommended choice', () => {
    const strict = { ...choiceOf({ heldOut: { ordinary: 500 } }), isRecommended: false };
    expect(certaintyOf(ENOUGH, [strict, choiceOf()])).toBe('high');
  });
});
