import { describe, expect, test } from 'vitest';
import type { LogEntry } from '../../../../../src/cli/evidence/formats/log-format.ts';
import { byStratum, peaksOf } from '../../../../../src/cli/evidence/suggest/peaks.ts';
import { BOT_AGENT, UserAgents } from '../../../../../src/cli/evidence/suggest/request-signs.ts';
import type { Stratum } from '../../../../../src/cli/evidence/suggest/strata.ts';
import { trafficIn } from '../../../../../src/cli/evidence/suggest/traffic.ts';
import { Random } from '../../../../support/random.ts';
import { entryOf, LOG_START_MS, NO_POLICIES, trafficLogOf } from '../../../../support/traffic.ts';

const HOUR_MS = 3_600_000;

/** A hundred requests in six hours, at random times. */
function requests(change: (i: number) => Partial<LogEntry>): LogEntry[] {
  const random = new Random(1);
  return Array.from({ length: 100 }, (_, i) =>
    entryOf(LOG_START_MS + random.below(6 * HOUR_MS), change(i)),
  );
}

function stratumOf(entries: readonly LogEntry[]): Stratum | undefined {
  const recorded = trafficLogOf(entries, NO_POLICIES).recorded();
  const { byRoute } = trafficIn(recorded, { fromMs: 0, toMs: Number.POSITIVE_INFINITY });
  const found = byStratum(() => 0);
  for (const route of byRoute) {
    const { clients } = peaksOf(route);
    for (const each of Object.keys(found) as Stratum[]) found[each] += clients[each];
  }
  return (Object.keys(found) as Stratum[]).find((each) => found[each] === 1);
}

describe('a client is', () => {
  test('ordinary without a sign of anything else', () => {
    expect(stratumOf(requests(() => ({})))).toBe('ordinary');
  });

  test('a declared bot, if most of its requests say so', () => {
    expect(stratumOf(requests(() => ({ userAgent: 'Googlebot/2.1' })))).toBe('declared_bot');
    const few = requests((i) => ({ userAgent: i < 40 ? 'curl/8.5' : 'Chrome' }));
    expect(stratumOf(few)).toBe('ordinary');
  });

  test('a shared address with many user agents', () => {
    expect(stratumOf(requests((i) => ({ userAgent: `Chrome/${i % 5}` })))).toBe('shared_address');
    expect(stratumOf(requests((i) => ({ userAgent: `Chrome/${i % 4}` })))).toBe('ordinary');
  });

  test('a probable bot, if most of its requests are errors of the client', () => {
    const errors = (status: number) => requests((i) => ({ status: i % 2 === 0 ? status : 200 }));
    expect(stratumOf(errors(401))).toBe('probable_bot');
    expect(stratumOf(errors(429))).toBe('ordinary');
    expect(stratumOf(errors(500))).toBe('ordinary');
  });

  test('a probable bot, if its requests are regular', () => {
    const monitor = Array.from({ length: 30 }, (_, i) => entryOf(LOG_START_MS + 30_000 * i));
    expect(stratumOf(monitor)).toBe('probable_bot');
    expect(stratumOf(monitor.slice(0, 10))).toBe('ordinary');
  });

  test('a probable bot, if it is active for more than 18 hours of a day', () => {
    const random = new Random(2);
    const awake = (hours: number) =>
      Array.from({ length: 2 * hours }, (_, i) =>
        entryOf(LOG_START_MS + (i / 2) * HOUR_MS + random.below(HOUR_MS / 2)),
      );
    expect(stratumOf(awake(19))).toBe('probable_bot');
    expect(stratumOf(awake(18))).toBe('ordinary');
  });
});

test.each([
  'Mozilla/5.0 (compatible; Googlebot/2.1)',
  'curl/8.5.0',
  'kube-probe/1.29',
  'python-requests/2.31',
])('%s says that it is a program', (text) => {
  expect(new UserAgents().read(text).sign).toBe(BOT_AGENT);
});

test.each([
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36',
  'Mozilla/5.0 (Linux; Android 13; CUBOT X30) AppleWebKit/537.36 Chrome/120.0 Mobile Safari/537.36',
  undefined,
])('%s does not', (text) => {
  expect(new UserAgents().read(text).sign).not.toBe(BOT_AGENT);
});
