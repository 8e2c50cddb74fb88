/** Overrides as they are stored and reported. */
import { describe, expect, test } from 'vitest';
import { overrideReport } from '../../../../../src/gateway/operations/override-report.ts';
import { overrideReportSchema } from '../../../../../src/gateway/operations/schemas/overrides.ts';
import {
  fromStored,
  loggingIn,
  type Override,
  overrideEffects,
  subjectOf,
  toStored,
} from '../../../../../src/gateway/stores/overrides/override.ts';
import { NOON_MS } from '../../../../support/requests.ts';

const TERMS = { sinceMs: NOON_MS, untilMs: NOON_MS + 1_000, reason: 'a test', by: 'ada' };
const REPORTED = {
  ...{ since: '2026-11-21T12:00:00.000Z', until: '2026-11-21T12:00:01.000Z' },
  ...{ reason: 'a test', by: 'ada' },
};
const OVERRIDES: readonly (readonly [Override, string, object])[] = [
  [
    { about: 'client', client: 'u.bob', isLong: false, access: 'exempt', ...TERMS },
    'client:u.bob',
    { about: 'client', client: 'u.bob', access: 'exempt', ...REPORTED },
  ],
  [
    { about: 'policy', policy: 'login', mode: 'shadow', ...TERMS },
    'policy:login',
    { about: 'policy', policy: 'login', mode: 'shadow', ...REPORTED },
  ],
  [
    { about: 'log_level', level: 'debug', ...TERMS },
    'log_level',
    { about: 'log_level', level: 'debug', ...REPORTED },
  ],
  [
    { about: 'log_allows', oneIn: 7, ...TERMS },
    'log_allows',
    { about: 'log_allows', allows_one_in: 7, ...REPORTED },
  ],
];

describe.each(OVERRIDES)('%j', (override, subject, report) => {
  test('is stored by its subject, and read as it was', () => {
    expect(subjectOf(override)).toBe(subject);
    const stored = toStored(override);
    expect(stored).toMatchObject({ about: subject, untilMs: override.untilMs });
    expect(fromStored(stored)).toEqual(override);
    // The store knows the end by the clock of this process.
    expect(fromStored({ ...stored, untilMs: NOON_MS + 5 })).toEqual({
      ...override,
      untilMs: NOON_MS + 5,
    });
  });

  test('is reported as the ops API describes it', () => {
    expect(overrideReport(override, { get: () => undefined, hasPlan: () => true })).toEqual(report);
    expect(overrideReportSchema.parse(report)).toEqual(report);
  });
});

test('an override of a listed key is reported with the id and the plan', () => {
  const [[override]] = OVERRIDES as [(typeof OVERRIDES)[number]];
  const client = { ...override, client: 'c.acme' } as Override;
  const report = (plan: string | undefined) =>
    overrideReport(client, { get: () => ({ id: 'acme', plan }), hasPlan: () => true });
  expect(report('pro')).toMatchObject({ client: 'c.acme', client_id: 'acme', plan: 'pro' });
  expect(Object.keys(report(undefined))).not.toContain('plan');
});

test.each([
  [{ by: 'x'.repeat(65) }],
  [{ reason: 'x'.repeat(201) }],
  [{ reason: 'a\u001b[2J' }],
  [{ client: 'x'.repeat(257) }],
  [{ client: 'a\nb' }],
  [{ access: 'blessed' }],
  [{ isLong: 'no' }],
  [{ sinceMs: -1 }],
  [{ sinceMs: 1.5 }],
  // A report has no more than four digits for the year.
  [{ sinceMs: 8_640_000_000_000_000 }],
  [{ about: 'nobody' }],
])('a stored override with %j is ignored', (fields) => {
  const [[override]] = OVERRIDES as [(typeof OVERRIDES)[number]];
  const stored = toStored({ ...override, ...fields } as Override);
  expect(fromStored(stored)).toBeUndefined();
});

test('every override has one word for the metric', () => {
  expect(overrideEffects(OVERRIDES.map(([override]) => override))).toEqual([
    ...['exempt', 'shadow', 'log_level', 'log_allows'],
  ]);
});

test('the log settings are those of the overrides of the log', () => {
  expect(loggingIn(OVERRIDES.map(([override]) => override))).toEqual({
    ...{ level: 'debug', allowsOneIn: 7 },
  });
  expect(loggingIn([])).toEqual({ level: undefined, allowsOneIn: undefined });
});
