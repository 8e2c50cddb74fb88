import { describe, expect, test } from 'vitest';
import { adviceOn } from '../../../../../src/cli/evidence/suggest/advice.ts';
import { type Attack, DAY_MS, syntheticLog } from '../../../../support/synthetic-log.ts';
import { LOG_START_MS, suggestionsFor } from '../../../../support/traffic.ts';

const HOUR_MS = 3_600_000;

/** Looks like the user of an app: irregular, one request a second, never an error. */
const SCRAPER: Attack = {
  ...{ name: 'scraper', day: 1, atMs: 5 * HOUR_MS, forMs: HOUR_MS, requestsPerSecond: 1 },
  ...{ addresses: 1, network: 60, method: 'GET', target: () => '/items/7', status: 200 },
  ...{ isIrregular: true, userAgent: () => 'okhttp/4.12.0' },
};

function adviceFor(attacks: readonly Attack[], crawlers = 0): string {
  const log = syntheticLog({
    ...{ seed: 1, startMs: LOG_START_MS, days: 2, people: 400, offices: 3, crawlers },
    ...{ monitors: 0, attacks },
  });
  return adviceOn(suggestionsFor([...log].map(({ entry }) => entry))).join('\n');
}

describe('advice', () => {
  test('is none for ordinary clients with enough evidence', () => {
    expect(adviceFor([])).toBe('');
  });

  test('names a route where a few clients are far above the others', () => {
    expect(adviceFor([SCRAPER])).toMatch(
      /^GET \/items\/:id: a few clients send up to 3,\d+ requests in 1h, far above p99 \(\d+\)\. The limits deny them\./,
    );
    expect(adviceFor([{ ...SCRAPER, addresses: 20, requestsPerSecond: 10 }])).toMatch(
      /far above p90 \(\d+\)\. They raise the limits\./,
    );
  });

  test('is to exempt welcome bots that the limits deny', () => {
    expect(adviceFor([], 2)).toContain('list those that you welcome under exempt');
  });

  test('is to take a longer log', () => {
    const log = syntheticLog({
      ...{ seed: 1, startMs: LOG_START_MS, days: 1, people: 400, offices: 3, crawlers: 0 },
      ...{ monitors: 0, attacks: [] },
    });
    const morning = [...log].filter(({ entry }) => entry.startMs < LOG_START_MS + DAY_MS / 2);
    const advice = adviceOn(suggestionsFor(morning.map(({ entry }) => entry)));
    expect(advice.join()).toContain('less than a day');
  });
});
