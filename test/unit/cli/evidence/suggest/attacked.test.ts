/** Suggestions from logs that hold attacks, judged by what their limits do on the day after. */
import { describe, expect, test } from 'vitest';
import { rateText } from '../../../../../src/cli/evidence/suggest/windows.ts';
import {
  attackedLog,
  HELD_OUT_ATTACKS,
  HELD_OUT_FROM_MS,
  type MoreTraffic,
} from '../../../../support/attacked-log.ts';
import { enforcedFile, judge } from '../../../../support/judged-log.ts';
import { DAY_MS } from '../../../../support/synthetic-log.ts';
import { suggestionsFor } from '../../../../support/traffic.ts';

const PEOPLE = ['person', 'app', 'office'];

function suggested(seed: number, past: number, more: MoreTraffic = {}) {
  const log = attackedLog(seed, past, more);
  const entries = log.map(({ entry }) => entry);
  const suggestions = suggestionsFor(entries, { holdoutMs: DAY_MS, precisionMs: 1_000 });
  const limits = suggestions.routes.map(({ route, proposal }) => {
    const choice = proposal?.choices.find(({ isRecommended }) => isRecommended);
    const rates = choice?.limits.map(rateText).join(' ');
    return `${route.title} ${rates} ${proposal?.certainty}`;
  });
  return { log, suggestions, limits: limits.sort() };
}

/** Whole percents of the requests of the held-out day that the limits deny. */
function deniedBy({ log, suggestions }: ReturnType<typeof suggested>) {
  const later = log.filter(({ entry }) => entry.startMs >= HELD_OUT_FROM_MS);
  const verdicts = judge(enforcedFile(suggestions), later);
  return (actor: string) => {
    const { denied = 0, requests = 1 } = verdicts.get(actor) ?? {};
    return Math.floor((100 * denied) / requests);
  };
}

describe.each([1, 2, 3])('limits from the log of seed %i', (seed) => {
  const clean = suggested(seed, 0);

  test('deny attacks of the next day, and no person and no user of the app', () => {
    const denied = deniedBy(clean);
    expect(PEOPLE.map(denied)).toEqual([0, 0, 0]);
    expect(Math.min(...HELD_OUT_ATTACKS.map(denied))).toBeGreaterThanOrEqual(83);
  });

  test.each([1, 16])('are the same after %i attacks', (past) => {
    expect(suggested(seed, past).limits).toEqual(clean.limits);
  });
});
