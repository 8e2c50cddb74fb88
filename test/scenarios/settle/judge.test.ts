import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { Judge, type Verdict } from './judge.ts';
import { type Outcome, suffixOf, VERSIONS } from './policies.ts';
import type { Line } from './redis-record.ts';

const PARTITION = 'c.somebody';
const MOMENT_MS = 1_800_000_001_000;
const ENDS_MS = MOMENT_MS + 60_000;
/** Of `tokens`, 50 reserved and 80 for an unknown outcome. */
const [COUNTER] = VERSIONS[0] ?? [];
if (COUNTER === undefined) throw new Error('there is no limit');
const SUFFIX = suffixOf(COUNTER);
const KEY = `hg:v1:{${PARTITION}}${SUFFIX}`;
const WINDOW = Math.floor(MOMENT_MS / 1_000);
const DIGEST = hash('sha256', JSON.stringify(['tokens', null, `}${SUFFIX}`])).slice(0, 12);

const took = (units: number): Line => ({ act: 'took', key: KEY, value: `${WINDOW} ${units} 0` });
const corrected = (units: number): Line => ({
  ...{ act: 'corrected', key: KEY, value: units === 0 ? '' : `${WINDOW} ${units} 0` },
});
const settled = (id = 'a'): Line => ({ act: 'settled', id, keptMs: 59_500 });

function judged(
  lines: readonly Line[],
  outcome: Outcome | undefined,
  verdict = 'settled',
): Verdict {
  const part = { digest: DIGEST, form: 0, partition: PARTITION, units: 50, momentMs: MOMENT_MS };
  const reports = outcome === undefined ? [] : [{ outcome, version: 0, verdict }];
  const admitted = { token: { id: 'a', endsMs: ENDS_MS, parts: [part] }, version: 0, reports };
  return new Judge([admitted], new Set(['a'])).judge(lines);
}

describe('the judge', () => {
  test.each<[string, readonly Line[], Outcome | undefined]>([
    ['a reservation that stays', [took(50)], undefined],
    ['units that are given back', [took(50), settled(), corrected(20)], { units: { tokens: 20 } }],
    ['all of them', [took(50), settled(), corrected(0)], { units: { tokens: 0 } }],
    ['a surplus', [took(50), settled(), corrected(120)], { units: { tokens: 120 } }],
    ['an outcome that says nothing', [took(50), settled(), corrected(80)], {}],
    ['a reset', [took(50), { act: 'reset', key: KEY, atMs: MOMENT_MS + 9 }], undefined],
  ])('agrees with %s', (_, lines, outcome) => {
    expect(judged(lines, outcome).wrong).toEqual([]);
  });

  test('says how far a count went beyond its limit, and what was under way then', () => {
    const lines = [took(50), settled(), corrected(1_250)];
    const verdict = judged(lines, { units: { tokens: 1e9 } });
    expect(verdict).toMatchObject({ wrong: [], cut: 1, mostBeyond: 50, underWayThen: 1_200 });
  });

  test.each<[string, readonly Line[], Outcome | undefined, string]>([
    ['a unit too much', [took(51)], undefined, 'is 1800000001 51 0 in place of 1800000001 50 0'],
    ['a reservation that is not counted', [], undefined, '1 takes were not counted'],
    ['one that is counted twice', [took(50), took(100)], undefined, 'counted without a request'],
    ['a settlement of nobody', [took(50), settled('b')], undefined, 'nobody has reported it'],
    ['one that was not reported', [took(50), settled()], undefined, 'nobody has reported it'],
    ['one that changes nothing', [took(50), settled()], {}, 'did not change'],
    ['one that changes too much', [took(50), settled(), corrected(81)], {}, '81 0 in place of'],
    [
      'one that changes twice',
      [took(50), settled(), corrected(80), corrected(110)],
      {},
      'has changed',
    ],
    [
      'one after a reset',
      [took(50), { act: 'reset', key: KEY, atMs: MOMENT_MS }, settled(), corrected(80)],
      {},
      'in place of reset',
    ],
  ])('sees %s', (_, lines, outcome, complaint) => {
    expect(judged(lines, outcome).wrong.join()).toContain(complaint);
  });
});
