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

/** How many clients are in each stratum. */
function strataIn(entries: readonly LogEntry[]): Record<Stratum, number> {
  const recorded = trafficLogOf(entries, NO_POLICIES).recorded();
  const { byRoute } = trafficIn(recorded, { fromMs: 0, toMs: Number.POSITIVE_INFINITY });
  const found = byStratum(() => 0);
  for (const route of byRoute) {
    const { clients } = peaksOf(route);
    for (const each of Object.keys(found) as Stratum[]) found[each] += clients[each];
  }
  return found;
}

function stratumOf(entries: readonly LogEntry[]): Stratum | undefined {
  const found = strataIn(entries);
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

  test('a probable bot, if a site refuses nearly all that it sends, however little that is', () => {
    const logins = (statuses: readonly number[]) =>
      statuses.map((status, i) => entryOf(LOG_START_MS + 7_000 * i * i, { status }));
    expect(stratumOf(logins([401, 401]))).toBe('probable_bot');
    expect(stratumOf(logins([200, ...Array(9).fill(401)]))).toBe('probable_bot');
    expect(stratumOf(logins([401, 401, 401, 200]))).toBe('ordinary');
  });

  test('a probable bot, if a browser opens hundreds of pages without their assets', () => {
    const userAgent = 'Mozilla/5.0 (X11) Chrome/141.0';
    const visitor = requests((i) => ({
      ...{ userAgent, address: '20.0.0.2' },
      target: i % 2 === 0 ? '/search' : '/a/b.css',
    }));
    const pages = (count: number, agentOf = (_: number) => userAgent) =>
      Array.from({ length: count / 100 }, () =>
        requests((i) => ({ userAgent: agentOf(i) })),
      ).flat();
    const strataBeside = (entries: readonly LogEntry[]) =>
      strataIn([...entries, ...Array.from({ length: 4 }, () => visitor).flat()]);
    expect(strataBeside(pages(600))).toMatchObject({ ordinary: 1, probable_bot: 1 });
    expect(strataBeside(pages(400))).toMatchObject({ ordinary: 2, probable_bot: 0 });
    const rotating = pages(100, (i) => `${userAgent}.${i}`);
    expect(strataBeside(rotating)).toMatchObject({ ordinary: 1, probable_bot: 1 });
    expect(strataBeside(pages(600, () => 'okhttp/4.12.0'))).toMatchObject({ ordinary: 2 });
    expect(strataIn(pages(600))).toMatchObject({ ordinary: 1 });
  });

  test('ordinary, if it is an app that polls regularly, day and night', () => {
    const polls = (userAgent: string) =>
      Array.from({ length: 96 }, (_, i) => entryOf(LOG_START_MS + 900_000 * i, { userAgent }));
    expect(stratumOf(polls('okhttp/4.12.0'))).toBe('ordinary');
    expect(stratumOf(polls('Mozilla/5.0 (X11) Chrome/141.0'))).toBe('probable_bot');
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
  'Go-http-client/1.1',
  'Java/17.0.2',
  'Apache-HttpClient/4.5.13 (Java/17)',
  'ShopBot/1.0 okhttp/4.9.3',
])('%s says that it is a program', (text) => {
  expect(new UserAgents().read(text).sign).toBe(BOT_AGENT);
});

test.each([
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36',
  'Mozilla/5.0 (Linux; Android 13; CUBOT X30) AppleWebKit/537.36 Chrome/120.0 Mobile Safari/537.36',
  'okhttp/4.12.0',
  'Shop/214 CFNetwork/1494.0.7 Darwin/23.4.0',
  'NewsFeed/3 CFNetwork/1410.0.3 Darwin/22.6.0',
  'Dart/3.4 (dart:io)',
  'Shop/2.1 (com.example.shop; build:7; iOS 17.4.0) Alamofire/5.9.1',
  'Dalvik/2.1.0 (Linux; U; Android 13; SM-G991B)',
  'Superlative/2.0',
  undefined,
])('%s does not', (text) => {
  expect(new UserAgents().read(text).sign).not.toBe(BOT_AGENT);
});
