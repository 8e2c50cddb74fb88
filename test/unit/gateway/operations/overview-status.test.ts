/** How the gateways are, in words. */

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { Output } from '../../../../src/gateway/operations/operation-table.ts';
import { plural, rateText, shareText } from '../../../../src/gateway/operations/texts.ts';
import { policy, seriesEnding, snapshot } from '../../../support/top.ts';

const AT = '2026-11-22T11:00:00.000Z';
const TRAFFIC = 'In the last 10 s: 20 requests/s, 2.0 % denied.';
/** In each of two steps. */
const steady = (requests: number, denials = 0) => ({
  requests: seriesEnding(requests, requests),
  denials: seriesEnding(denials, denials),
});
const POLICIES = [policy('login', steady(20, 1)), policy('search', steady(80, 1))];

const statusWith = (overview: Partial<Output<'overview'>>, policies = POLICIES) =>
  snapshot({
    policies,
    overview: { gateways: { asked: 3, answered: 3, workers: 0 }, ...overview },
  }).overview.status;
const linesWith = (...args: Parameters<typeof statusWith>) =>
  statusWith(...args).map(({ text }) => text);

test('all is well', () => {
  expect(statusWith({})).toEqual([
    { level: 'well', text: `All is well: 3 gateways count in Redis. ${TRAFFIC}` },
  ]);
  expect(linesWith({}, [])).toEqual([
    'All is well: 3 gateways count in Redis. No requests in the 10 s until 11:30:00 UTC.',
  ]);
});

test('outcomes that nobody reports are a warning', () => {
  expect(statusWith({ unsettled_policies: ['completions', 'login'] })[0]).toEqual({
    level: 'warning',
    text: 'No outcomes are reported for completions and login: every reservation stays counted. Have the application or Envoy settle them.',
  });
});

describe('Redis', () => {
  type State = Output<'overview'>['store']['states'][number];
  const redis = (...states: State[]) => ({ store: { kind: 'redis' as const, states } });
  const local = { state: 'local', gateways: 3, policies: ['login'] } as const;
  const open = { state: 'open', gateways: 3, policies: ['api', 'default'] } as const;
  const closed = { state: 'closed', gateways: 3, policies: ['pay'] } as const;
  const down = { since: AT, reason: 'refused: connect ECONNREFUSED 127.0.0.1:6379' };
  const late = {
    since: AT,
    reason: 'timeout',
    lapses: { failed: 1, checks: 120, within_ms: 10_000 },
  };
  const list = <T extends object>(states: T[]) => states as unknown as State[];

  test.each<[string, object[], 'wrong' | 'warning', string]>([
    [
      'is down',
      [
        { ...local, ...down },
        { ...open, ...down },
        { ...closed, ...down },
      ],
      'wrong',
      'Redis has not answered since 11:00 UTC. Each gateway counts login by itself; api and default pass uncounted; pay is denied.',
    ],
    [
      'is down since yesterday, for some gateways',
      [
        { state: 'enforced', gateways: 2, policies: [] },
        { ...open, gateways: 1, ...down, since: '2026-11-21T20:14:00.000Z', policies: ['api'] },
      ],
      'wrong',
      'Redis has not answered 1 of 3 gateways since 2026-11-21 20:14 UTC. api passes uncounted.',
    ],
    ...[
      ['2026-11-22T10:40:00.000Z', AT],
      [AT, '2026-11-22T10:40:00.000Z'],
    ].map(([first, second]): [string, object[], 'wrong', string] => [
      'went down for one policy after the other',
      [
        { ...open, ...down, since: first },
        { ...closed, ...down, since: second },
      ],
      'wrong',
      'Redis has not answered since 10:40 UTC. api and default pass uncounted; pay is denied.',
    ]),
    [
      'is down for two reasons',
      [
        { ...open, gateways: 2, ...down },
        { ...open, gateways: 1, since: AT, reason: 'given_up' },
      ],
      'wrong',
      'Redis has not answered since 11:00 UTC. api and default pass uncounted.',
    ],
    [
      'is full',
      [{ ...open, since: AT, reason: 'oom' }],
      'wrong',
      'Redis has refused to count since 11:00 UTC (oom). api and default pass uncounted.',
    ],
    [
      'was late once',
      [
        { ...local, ...late },
        { ...open, ...late },
      ],
      'warning',
      'Redis was late for 1 of 120 checks in the last 10 s. Each gateway counted those of login by itself; those of api and default passed uncounted.',
    ],
    [
      'breaks connections of a gateway',
      [
        { state: 'enforced', gateways: 2, policies: [] },
        { ...closed, gateways: 1, ...late, reason: 'connection: reset' },
      ],
      'warning',
      'Redis failed (connection) 1 of 120 checks in the last 10 s on 1 of 3 gateways. Those of pay were denied.',
    ],
  ])('%s', (_what, states, level, text) => {
    expect(statusWith(redis(...list(states)))).toEqual([
      { level, text },
      { level: 'well', text: TRAFFIC },
    ]);
  });

  test('is down for one gateway and late for another: the worse is first', () => {
    const lines = statusWith(
      redis(
        ...list([
          { ...open, gateways: 1, ...late },
          { ...open, gateways: 1, ...down },
        ]),
      ),
    );
    expect(lines.map(({ level }) => level)).toEqual(['wrong', 'warning', 'well']);
  });

  test('names a few of many policies', () => {
    const many = { ...open, ...down, policies: Array.from({ length: 30 }, (_, i) => `p${i}`) };
    expect(linesWith(redis(...list([many])))[0]).toBe(
      'Redis has not answered since 11:00 UTC. p0, p1, p2, p3 and 26 more pass uncounted.',
    );
  });
});

test.each<[Partial<Output<'overview'>>, 'wrong' | 'warning', string]>([
  [
    { gateways: { asked: 4, answered: 3, workers: 0 } },
    'warning',
    '1 of 4 gateways did not answer: the numbers lack theirs.',
  ],
  [
    { policy_file: { digests: [], refused: { at: AT, mistakes: ['line 3: a mistake'] } } },
    'warning',
    'A policy file was refused at 11:00 UTC, so the one before stays in force: line 3: a mistake',
  ],
  [
    {
      policy_file: {
        digests: [],
        refused: { at: AT, mistakes: ['line 3: a mistake', 'line 5: another'] },
      },
    },
    'warning',
    'A policy file was refused at 11:00 UTC, so the one before stays in force: line 3: a mistake; and 1 more',
  ],
  [
    { refused_caller: { gateways: 2, last: AT } },
    'wrong',
    'Calls without the right secret get 403, the last at 11:00 UTC. If your proxy sends them, all of its clients get 403: set its X-Headgate-Secret to HEADGATE_PROXY_SECRET.',
  ],
  [
    { untrusted_proxy: { gateways: 2, last: AT } },
    'warning',
    'A proxy outside identity.trusted_proxies sends checks to 2 of 3 gateways: all of its clients share the limits of its address. Add the network that it connects from.',
  ],
])('%j is told in words', (overview, level, text) => {
  expect(statusWith(overview)).toEqual([
    { level, text },
    { level: 'well', text: TRAFFIC },
  ]);
});

test('denials are a warning from one per second on that is a tenth of the requests', () => {
  const first = (requests: number, denials: number) =>
    statusWith({}, [policy('login', steady(requests, denials)), policy('search', steady(5))])[0];
  expect(first(15, 4)?.level).toBe('well');
  expect(first(90, 5)?.level).toBe('well');
  expect(first(15, 5)).toEqual({
    level: 'warning',
    text: '25.0 % of the requests were denied in the last 10 s, most of them by login.',
  });
});

test('modes that an operator changed are told, also while all is well', () => {
  const off = { ...policy('login', steady(20)), mode: 'off' as const };
  expect(linesWith({}, [off])).toEqual([
    expect.stringMatching(/^All is well/),
    'An operator set login to off; the policy file says enforce.',
  ]);
  const many = Array.from({ length: 9 }, (_, i) => ({ ...off, name: `p${i}` }));
  expect(linesWith({}, many)[1]).toBe(
    'An operator changed the modes of p0, p1, p2, p3 and 5 more.',
  );
});

test('rates and shares are short, and never round to none or all', () => {
  expect([0, 0.01, 0.44, 9.96, 1_234].map(rateText)).toEqual(['0', '<0.1', '0.4', '10', '1,234']);
  expect([0, 1, 31, 999.9, 1_000].map((part) => shareText(part, 1_000))).toEqual([
    ...['0 %', '0.1 %', '3.1 %', '99.9 %', '100 %'],
  ]);
  expect(shareText(1, 1_000_000)).toBe('<0.1 %');
  expect([plural(1, 'gateway'), plural(2, 'gateway')]).toEqual(['1 gateway', '2 gateways']);
});

test('the page has less than 100 KB', () => {
  const page = fileURLToPath(new URL('../../../../web/ui/', import.meta.url));
  const bytes = readdirSync(page).reduce((sum, name) => sum + statSync(join(page, name)).size, 0);
  expect(bytes).toBeLessThan(100_000);
});

test.each<[workers: number, who: string]>([
  [3, '3 workers count'],
  [2, '3 gateways (2 workers among them) count'],
])('%i of 3 gateways are workers', (workers, who) => {
  const gateways = { asked: 3, answered: 3, workers };
  expect(linesWith({ gateways }, [])).toEqual([expect.stringContaining(`All is well: ${who} in`)]);
});
