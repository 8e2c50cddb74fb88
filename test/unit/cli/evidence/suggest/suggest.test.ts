import { describe, expect, test, vi } from 'vitest';
import type { LogEntry } from '../../../../../src/cli/evidence/formats/log-format.ts';
import { suggestionsJson } from '../../../../../src/cli/evidence/suggest/json.ts';
import {
  draftPolicyFile,
  writePolicyFile,
} from '../../../../../src/cli/evidence/suggest/policy-file.ts';
import type {
  RouteSuggestion,
  Suggestions,
} from '../../../../../src/cli/evidence/suggest/suggest.ts';
import { rateText } from '../../../../../src/cli/evidence/suggest/windows.ts';
import { policySetFrom } from '../../../../support/policies.ts';
import { Random } from '../../../../support/random.ts';
import { DAY_MS, syntheticLog } from '../../../../support/synthetic-log.ts';
import {
  addressOf,
  burst,
  entryOf,
  LOG_START_MS,
  suggestionsFor,
} from '../../../../support/traffic.ts';

const HOUR_MS = 3_600_000;
const SHOP = {
  ...{ seed: 1, startMs: LOG_START_MS, days: 2, people: 400, offices: 3, crawlers: 2 },
  ...{ monitors: 1, attacks: [] },
};

/** Each client sends one burst of 1 to `most` requests; large ones are rare. */
function people(clients: number, most: number): LogEntry[] {
  const random = new Random(1);
  return Array.from({ length: clients }, (_, i) =>
    burst(i, LOG_START_MS + random.below(20 * HOUR_MS), Math.ceil(most * random.next() ** 3)),
  ).flat();
}

/** Programs with browsers' user agents that send `rate` requests a minute for `minutes`. */
function programs(clients: number, rate: number, minutes: number): LogEntry[] {
  return Array.from({ length: clients * rate * minutes }, (_, i) => {
    const nth = Math.floor(i / clients);
    return entryOf(LOG_START_MS + HOUR_MS + (60_000 * nth) / rate, {
      address: addressOf(100_000 + (i % clients)),
    });
  });
}

function routeNamed({ routes }: Suggestions, name: string): RouteSuggestion {
  const found = routes.find(({ route }) => route.name === name);
  if (found === undefined) throw new Error(`no route ${name}`);
  return found;
}

function recommended({ proposal }: RouteSuggestion): string[] {
  const choice = proposal?.choices.find(({ isRecommended }) => isRecommended);
  return choice?.limits.map(rateText) ?? [];
}

function fileOf(suggestions: Suggestions): string {
  return writePolicyFile(draftPolicyFile(suggestions.routes, undefined), suggestions, {
    capacity: undefined,
    notes: [],
  });
}

const STEPS = [1, 1.5, 2, 3, 5].flatMap((step) => [step, 10 * step, 100 * step, 1_000 * step]);
const ROUND = STEPS.sort((a, b) => a - b);

describe('a planted limit is recovered within one rounding step', () => {
  test.each([30, 100, 300])('%i per minute', (planted) => {
    // People stay below half of the limit, programs are above twice the limit.
    const most = Math.floor(planted / 2);
    const entries = [...people(3_000, most), ...programs(10, 2 * planted, 3)];
    const { proposal } = routeNamed(suggestionsFor(entries), 'get-search');
    const limits = proposal?.choices.find(({ isRecommended }) => isRecommended)?.limits ?? [];
    const [found] = limits;
    const steps = Math.abs(ROUND.indexOf(found?.limit ?? 0) - ROUND.indexOf(planted));
    expect(steps).toBeLessThanOrEqual(1);
  });
});

describe('evidence', () => {
  test('of 200 client-days is not enough for p99', () => {
    const found = routeNamed(suggestionsFor(people(200, 20)), 'get-search');
    expect(found.evidence.nonBotDays).toBe(200);
    expect(found.evidence.notEnoughFor).toContainEqual({ quantile: 0.99, daysNeeded: 299 });
    expect(found.proposal?.windows[0]?.floor.quantile).toBe(0.95);
    expect(found.proposal?.certainty).toBe('low');
    const file = fileOf(suggestionsFor(people(200, 20)));
    expect(file).toContain('not enough evidence for p99, which needs 299');
  });

  test('of 28 client-days is not enough for any limit', () => {
    const suggestions = suggestionsFor(people(28, 100));
    expect(routeNamed(suggestions, 'get-search').proposal).toBeUndefined();
    expect(fileOf(suggestions)).not.toContain('get-search');
  });

  test('of a short log is not enough for long windows', () => {
    const hour = people(3_000, 55).map((entry) => ({
      ...entry,
      startMs: LOG_START_MS + (entry.startMs % HOUR_MS),
    }));
    const { proposal } = routeNamed(suggestionsFor(hour), 'get-search');
    expect(proposal?.windows.map(({ windowMs }) => windowMs)).toEqual([60_000, 300_000]);
    const minute = hour.map((entry) => ({ ...entry, startMs: entry.startMs % 60_000 }));
    const short = routeNamed(suggestionsFor(minute), 'get-search').proposal;
    expect(short?.windows.map(({ windowMs }) => windowMs)).toEqual([10_000]);
  });

  test('of bots counts for no limit', () => {
    const bots = people(500, 20).map((entry) => ({ ...entry, userAgent: 'Googlebot/2.1' }));
    const { routes } = suggestionsFor(bots);
    expect(routes.map(({ route, proposal }) => [route.name, proposal])).toEqual([
      ['default', undefined],
    ]);
  });
});

describe('choices', () => {
  const found = routeNamed(suggestionsFor(people(3_000, 55)), 'get-search');
  const choices = found.proposal?.choices ?? [];

  test('are three to five, one of them recommended', () => {
    expect(choices.length).toBeGreaterThanOrEqual(3);
    expect(choices.length).toBeLessThanOrEqual(5);
    expect(choices.filter(({ isRecommended }) => isRecommended)).toHaveLength(1);
  });

  test('deny less and less', () => {
    const denied = choices.map(({ measured }) => measured.ordinary.requests.denied);
    expect(denied).toEqual(denied.toSorted((a, b) => b - a));
    expect(denied[0]).toBeGreaterThan(0);
  });

  test('have no limit that another one always reaches first', () => {
    // One burst a day: an hour holds no more than a minute.
    for (const { limits } of choices) expect(limits).toHaveLength(1);
  });

  test('are 1.5 times the floor without a gap', () => {
    expect(recommended(found)).toEqual(['100/1h']);
  });
});

test('a capacity for a longer window leaves those of shorter windows as they are', () => {
  const limitsFor = (capacity: { limit: number; windowMs: number } | undefined) =>
    recommended(routeNamed(suggestionsFor(hour, { capacity }), 'get-search'));
  const hour = people(3_000, 55).flatMap((entry) => [
    entry,
    { ...entry, startMs: entry.startMs + HOUR_MS / 4 },
  ]);
  expect(limitsFor(undefined)[0]).toMatch(/1min$/);
  expect(limitsFor({ limit: 60_000, windowMs: HOUR_MS })).toEqual(limitsFor(undefined));
  expect(limitsFor({ limit: 50, windowMs: HOUR_MS })).toEqual(['50/1h']);
});

test('no limit exceeds the capacity', () => {
  const capacity = { limit: 12, windowMs: 60_000 };
  const found = routeNamed(suggestionsFor(people(3_000, 40), { capacity }), 'get-search');
  for (const { limits } of found.proposal?.choices ?? []) {
    for (const { limit, windowMs } of limits) {
      expect(limit).toBeLessThanOrEqual((12 * windowMs) / 60_000);
    }
  }
});

test('no limit per second is proposed from stamps in whole seconds', () => {
  const short = people(3_000, 40).map((entry) => ({
    ...entry,
    startMs: LOG_START_MS + (entry.startMs % 15_000),
  }));
  const windowsOf = (precisionMs: number) =>
    routeNamed(suggestionsFor(short, { precisionMs }), 'get-search').proposal?.windows.map(
      ({ windowMs }) => windowMs,
    );
  expect(windowsOf(1)).toEqual([1_000]);
  expect(windowsOf(1_000)).toBeUndefined();
});

test('days that are held out change no limit, and are measured', () => {
  const flood = burst(5, LOG_START_MS + DAY_MS + HOUR_MS, 2_000);
  const entries = people(3_000, 40);
  const alone = routeNamed(suggestionsFor(entries), 'get-search');
  const suggestions = suggestionsFor([...entries, ...flood], { holdoutMs: DAY_MS });
  const held = routeNamed(suggestions, 'get-search');
  expect(recommended(held)).toEqual(recommended(alone));
  expect(suggestions.heldOut).toMatchObject({ requests: 2_000, clients: 1 });
  const choice = held.proposal?.choices.find(({ isRecommended }) => isRecommended);
  expect(choice?.heldOut?.ordinary.clients).toMatchObject({ of: 1, denied: 1 });
});

describe('the policy file', () => {
  const entries = [...syntheticLog(SHOP)].map(({ entry }) => entry);

  test('is valid, and every policy is in shadow mode', () => {
    const suggestions = suggestionsFor(entries);
    const text = writePolicyFile(draftPolicyFile(suggestions.routes, ['user', 'ip']), suggestions, {
      capacity: { limit: 500, windowMs: 1_000 },
      notes: ['A note.'],
    });
    const { policies } = policySetFrom(text);
    const names = policies.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['get-items-id', 'get-api-search', 'post-api-login', 'capacity']),
    );
    for (const { mode } of policies) expect(mode).toBe('shadow');
    expect(text).toContain('# A note.');
  });

  test('keeps what is not about the limits of clients', () => {
    const file = `
version: 1 # keep me
identity: { trusted_proxies: [loopback] }
default: { limits: [1000/1h] }
policies:
  - name: login
    match: { method: POST, path: /api/login }
    limits: [2/1h, { rate: 50/5min, per: ip }]
    cost: 2
  - name: never
    match: { path: /never }
    limits: [7/1h]
  - name: all
    always: true
    limits: [{ rate: 500/1s, per: global }]
`;
    const suggestions = suggestionsFor(entries, {}, file);
    const text = writePolicyFile(file, suggestions, { capacity: undefined, notes: [] });
    const [login, never, all] = policySetFrom(text).policies;
    const [limit = ''] = recommended(routeNamed(suggestions, 'login'));
    expect(login?.mode).toBe('shadow');
    expect(login?.limits.map(({ per }) => per)).toEqual(['client', 'ip']);
    expect(login?.limits[0]?.quota.limit).toBe(2 * Number.parseInt(limit, 10));
    expect(never).toMatchObject({ mode: 'enforce' });
    expect(all).toMatchObject({ mode: 'enforce', limits: [{ per: 'global' }] });
    expect(text).toContain('# keep me');
  });

  test('and JSON are the same each time, without the wall clock', () => {
    const now = vi.spyOn(Date, 'now').mockImplementation(() => {
      throw new Error('the clock was read');
    });
    try {
      const [first, second] = [suggestionsFor(entries), suggestionsFor(entries)];
      expect(fileOf(first)).toBe(fileOf(second));
      expect(JSON.stringify(suggestionsJson(first))).toBe(JSON.stringify(suggestionsJson(second)));
    } finally {
      now.mockRestore();
    }
  });

  test('and JSON name no client', () => {
    const suggestions = suggestionsFor(entries);
    const text = fileOf(suggestions) + JSON.stringify(suggestionsJson(suggestions));
    expect(text).not.toMatch(/\d+\.\d+\.\d+\.\d+|"i\.|i\.[\w-]{22}/);
  });
});
