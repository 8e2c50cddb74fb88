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
import type { Random } from '../../../../support/random.ts';
import { type Attack, DAY_MS } from '../../../../support/synthetic-log.ts';
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

const cleanLogs = new Map([1, 2, 3].map((seed) => [seed, suggested(seed, 0)]));

describe.each([...cleanLogs])('limits from the log of seed %i', (seed, clean) => {
  test('deny attacks of the next day, and no person and no user of the app', () => {
    const denied = deniedBy(clean);
    expect(PEOPLE.map(denied)).toEqual([0, 0, 0]);
    expect(Math.min(...HELD_OUT_ATTACKS.map(denied))).toBeGreaterThanOrEqual(83);
  });

  test.each(seed === 1 ? [1, 16] : [16])('are the same after %i attacks', (past) => {
    expect(suggested(seed, past).limits).toEqual(clean.limits);
  });
});

const HOUR_MS = 3_600_000;
const BROWSER = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/141.0';
const CRAWLER: Attack = {
  ...{ name: 'crawler', day: 2, atMs: 5 * HOUR_MS, forMs: 4 * HOUR_MS, requestsPerSecond: 0.5 },
  ...{ addresses: 1, network: 200, method: 'GET', status: 200, isIrregular: true },
  target: (random: Random) => `/items/${random.below(50_000)}`,
  userAgent: () => BROWSER,
};
const ROTATING: Attack = {
  ...{ ...CRAWLER, name: 'scraper with many names of browsers', network: 201 },
  userAgent: (random) => `${BROWSER}.${random.below(50)}`,
};
const SLOW_STUFFING: Attack = {
  ...{ name: 'a few guesses from each of thousands of addresses', day: 1, atMs: 0 },
  ...{ forMs: 20 * HOUR_MS, requestsPerSecond: 0.1, addresses: 3_000, network: 202 },
  ...{ method: 'POST', target: () => '/api/login', status: 401 },
};

describe('limits are the same', () => {
  test('after crawlers that look like browsers, and after slow guesses', () => {
    const { limits } = suggested(1, 0, { attacks: [CRAWLER, ROTATING, SLOW_STUFFING] });
    expect(limits).toEqual(cleanLogs.get(1)?.limits);
  });

  test('after an attack that looks like a person, and the evidence says so', () => {
    const guesses = { method: 'POST', target: () => '/api/login', status: 200 };
    const attack = { ...CRAWLER, ...guesses, userAgent: () => 'okhttp/4.12.0' };
    const { limits, suggestions } = suggested(1, 0, { attacks: [attack] });
    expect(limits).toEqual(cleanLogs.get(1)?.limits);
    const login = suggestions.routes.find(({ route }) => route.name === 'post-api-login');
    expect(login?.evidence.hasOutliers).toBe(true);
  });
});

test('two hundred people behind one address are denied nothing, and attacks are', () => {
  const denied = deniedBy(suggested(1, 1, { crowd: 200 }));
  expect([...PEOPLE, 'crowd'].map(denied)).toEqual([0, 0, 0, 0]);
  expect(Math.min(...HELD_OUT_ATTACKS.map(denied))).toBeGreaterThanOrEqual(83);
});
