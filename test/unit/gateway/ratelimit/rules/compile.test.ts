/** What files together become: their limits, their names, and every mistake at once. */
import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../../../../src/gateway/config/diagnostic.ts';
import { ALGORITHMS } from '../../../../../src/gateway/core/counting/store.ts';
import { compileRules, examineRules } from '../../../../../src/gateway/ratelimit/rules/compile.ts';
import type { RuleFile } from '../../../../../src/gateway/ratelimit/rules/rule.ts';
import { readRuleFile } from '../../../../../src/gateway/ratelimit/rules/rule-file.ts';
import { entriesFrom, examined, rulesFrom } from '../../../../support/rate-limit-rules.ts';

const LIMIT = { unit: 'minute', requests_per_unit: 5 };
const fileOf = (descriptors: unknown, name = 'cds'): RuleFile => ({
  name,
  value: { domain: 'd', descriptors },
});

function mistakesIn(files: readonly RuleFile[], mergeDomains = false): readonly string[] {
  try {
    compileRules(files, { mergeDomains });
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
  return [];
}

const mistakesInTexts = (texts: readonly string[], mergeDomains = false) =>
  mistakesIn(
    texts.map((text, i) => readRuleFile(`${i + 1}.yaml`, text)),
    mergeDomains,
  );

const warningsIn = (text: string) =>
  examined(text).files.flatMap(({ diagnostics }) => diagnostics.map(({ rule }) => rule));

test('a limit has all that its file says', () => {
  const { all } = rulesFrom(`
domain: mongo_cps
descriptors:
  - key: database
    value: users
    shadow_mode: true
    quota_mode: true
    rate_limit:
      name: users
      unit: WEEK
      requests_per_unit: 500
      replaces: [{ name: everyone }, { name: users2 }]
    headgate: { algorithm: token-bucket, burst: 600, mode: shadow, on_store_failure: local }
  - key: database
    rate_limit: { unlimited: true }
`);
  expect(all).toEqual([
    {
      domain: 'mongo_cps',
      name: 'mongo_cps.database_users',
      limitName: 'users',
      rate: { requestsPerUnit: 500, unit: 'week' },
      replaces: ['everyone', 'users2'],
      isShadow: true,
      isQuota: true,
      own: { algorithm: 'token-bucket', burst: 600, mode: 'shadow', onStoreFailure: 'local' },
    },
    {
      domain: 'mongo_cps',
      name: 'mongo_cps.database',
      limitName: undefined,
      rate: undefined,
      replaces: [],
      isShadow: false,
      isQuota: false,
      own: {},
    },
  ]);
});

test.each(ALGORITHMS)('takes the algorithm %s', (algorithm) => {
  const rules = compileRules([fileOf([{ key: 'a', rate_limit: LIMIT, headgate: { algorithm } }])], {
    mergeDomains: false,
  });
  expect(rules.all[0]?.own.algorithm).toBe(algorithm);
});

test('names all algorithms where it refuses another one', () => {
  const file = fileOf([{ key: 'a', rate_limit: LIMIT, headgate: { algorithm: 'gcra' } }]);
  const [mistake = ''] = mistakesIn([file]);
  for (const algorithm of ALGORITHMS) expect(mistake).toContain(algorithm);
});

test('limits are in the order of the files, those of a descriptor before those below it', () => {
  const limit = 'rate_limit: { unit: day, requests_per_unit: 1 }';
  const { all } = rulesFrom(
    `domain: b\ndescriptors: [{ key: z, ${limit}, descriptors: [{ key: y, ${limit} }] }, { key: x, ${limit} }]`,
    `domain: a\ndescriptors: [{ key: w, ${limit} }]`,
  );
  expect(all.map(({ name }) => name)).toEqual(['b.z', 'b.z.y', 'b.x', 'a.w']);
});

test('names are unique, even if dots in keys make them the same', () => {
  const limit = 'rate_limit: { unit: day, requests_per_unit: 1 }';
  const { all } = rulesFrom(
    `domain: a
descriptors:
  - { key: "b~2.c", ${limit} }
  - { key: b.c, ${limit} }
  - { key: b, descriptors: [{ key: c, ${limit} }] }
`,
    `domain: a.b\ndescriptors: [{ key: c, ${limit} }, { key: "c~2", ${limit} }, { key: "c~2~2", ${limit} }]`,
  );
  const names = all.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.slice(0, 3)).toEqual(['a.b~2.c', 'a.b.c', 'a.b.c~2']);
});

describe('mistakes', () => {
  test('of all files are reported at once, in the order of the files', () => {
    expect(
      mistakesInTexts([
        'domain: a\ndescriptors: [{ key: a, rate_limit: { unit: x } }]\n',
        'domain: "b',
        'descriptors: [{}]\n',
      ]),
    ).toEqual([
      '1.yaml:2:45: descriptors[0].rate_limit.unit: must be second, minute, hour, day, week, month or year',
      '2.yaml:1:9: this quote is not closed: write the same quote at the end of the value',
      '3.yaml:1:1: domain: is missing, it must be the domain of the requests',
      '3.yaml:1:15: descriptors[0].key: is missing, every descriptor has a key',
    ]);
  });
  test('without a text have their path', () => {
    expect(mistakesIn([fileOf([{ key: 'a', rate_limit: { unit: 'UNKNOWN' } }])])).toEqual([
      'cds: descriptors[0].rate_limit.unit: must be second, minute, hour, day, week, month or year',
    ]);
    expect(mistakesIn([{ name: 'cds', value: [] }])).toEqual([
      'cds: the file must be a map with a "domain" and "descriptors"',
    ]);
  });
  test.each([[null], [undefined], ['domain: a'], [5], [Symbol('x')], [[]]])(
    'a value that is no map: %s',
    (value) => {
      expect(mistakesIn([{ name: 'cds', value }])).toHaveLength(1);
    },
  );
  test('are at most 1,000 of a file', () => {
    const many = Array.from({ length: 5_000 }, () => ({}));
    expect(mistakesIn([fileOf(many)])).toHaveLength(1_000);
  });
  test('are not lost among warnings', () => {
    const many = Array.from({ length: 5_000 }, (_, i) => ({ key: `k${i}` }));
    expect(mistakesIn([fileOf([...many, {}])])).toEqual([
      'cds: descriptors[5000].key: is missing, every descriptor has a key',
    ]);
  });
  test('escape control characters', () => {
    const [line = ''] = mistakesInTexts(['domain: d\n"des\\u202e\\e[31m": []\n']);
    expect(line).toContain('des\\u{202e}\\u{1b}[31m');
  });
});

describe('a domain of two files', () => {
  const first = 'domain: d\ndescriptors: [{ key: a, rate_limit: { unlimited: true } }]\n';
  const second = 'domain: d\ndescriptors: [{ key: "*", rate_limit: { unlimited: true } }]\n';
  test('is refused at its place', () => {
    expect(mistakesInTexts([first, second])).toEqual([
      '2.yaml:1:9: domain: is the domain of another file too, put both into one or merge domains',
    ]);
  });
  test('has the descriptors of both if domains are merged', () => {
    const rules = rulesFrom(first, second);
    expect(rules.find('d', entriesFrom('a=1'))?.rule.name).toBe('d.*');
    expect(rulesFrom(first).find('d', entriesFrom('a=1'))?.rule.name).toBe('d.a');
  });
  test('is refused if both have the same descriptor', () => {
    expect(mistakesInTexts([first, first], true)).toEqual([
      '2.yaml:2:15: descriptors[0]: has the same key and value as a descriptor of another file',
    ]);
  });
  test('has the wildcards of the first file first', () => {
    const limit = 'rate_limit: { unlimited: true }';
    const one = `domain: d\ndescriptors: [{ key: k, value: "a*", ${limit} }]\n`;
    const other = `domain: d\ndescriptors: [{ key: k, value: "*b", ${limit} }]\n`;
    expect(rulesFrom(one, other).find('d', entriesFrom('k=ab'))?.rule.name).toBe('d.k_a*');
    expect(rulesFrom(other, one).find('d', entriesFrom('k=ab'))?.rule.name).toBe('d.k_*b');
  });
});

describe('warnings', () => {
  test('do not keep a file from being loaded', () => {
    const { rules, files } = examined('domain: d\ndescriptors: [{ key: a }]\n');
    expect(rules?.hasDomain('d')).toBe(true);
    expect(files[0]?.diagnostics.map(({ severity }) => severity)).toEqual(['warning']);
  });
  test.each([
    ['b*', 'a*', false],
    ['a*', 'ab*', true],
    ['*', 'a*b', true],
    ['a*b', 'a*', false],
    ['a*b', 'axb*b', true],
    ['*a', 'a*', false],
    ['a*', 'a**', true],
  ])('"%s" before "%s" covers it: %s', (first, second, isCovered) => {
    const limit = 'rate_limit: { unlimited: true }';
    const text = `domain: d\ndescriptors: [{ key: k, value: "${first}", ${limit} }, { key: k, value: "${second}", ${limit} }]\n`;
    expect(warningsIn(text)).toEqual(isCovered ? ['ratelimit-never-matches'] : []);
  });
  test('a wildcard of another level or another file covers nothing, unless domains are merged', () => {
    const limit = 'rate_limit: { unlimited: true }';
    const star = `{ key: k, value: "*", ${limit} }`;
    const nested = `domain: d\ndescriptors: [${star}, { key: j, descriptors: [{ key: k, value: "a*", ${limit} }] }]\n`;
    expect(warningsIn(nested)).toEqual([]);
    const files = [
      `domain: d\ndescriptors: [${star}]\n`,
      `domain: d\ndescriptors: [{ key: k, ${limit} }]\n`,
    ];
    const of = (texts: readonly string[]) =>
      examined(...texts).files.map(({ diagnostics }) => diagnostics.map(({ rule }) => rule));
    expect(of(files)).toEqual([[], ['ratelimit-never-matches']]);
  });
  test('names to replace may be those of another file with the domain', () => {
    const named = (name: string, replaces: string) =>
      `domain: d\ndescriptors: [{ key: ${name}, rate_limit: { unlimited: true, name: ${name}, replaces: [{ name: ${replaces} }] } }]\n`;
    expect(
      examined(named('a', 'b'), named('b', 'a')).files.flatMap((each) => each.diagnostics),
    ).toEqual([]);
    expect(warningsIn(named('a', 'b'))).toEqual(['ratelimit-replaces-unknown']);
  });
  test.each([
    [1_000_000, 'month', []],
    [1_000_001, 'second', ['ratelimit-fixed-window']],
    [1, 'year', ['ratelimit-fixed-window']],
  ])('%i per %s: %j', (requests, unit, expected) => {
    const text = `domain: d\ndescriptors: [{ key: k, rate_limit: { unit: ${unit}, requests_per_unit: ${requests} } }]\n`;
    expect(warningsIn(text)).toEqual(expected);
  });
});

test('takes what a control plane sends for what is not set', () => {
  const unset = {
    value: '',
    shadow_mode: false,
    quota_mode: false,
    detailed_metric: false,
    metadata: null,
  };
  const limit = { name: '', replaces: [], unlimited: false };
  const { rules, files } = examineRules(
    [
      fileOf([
        {
          ...unset,
          key: 'a',
          rate_limit: null,
          descriptors: [
            {
              ...unset,
              key: 'b',
              rate_limit: { ...limit, unlimited: true, unit: 'UNKNOWN', requests_per_unit: 0 },
              descriptors: [],
            },
            {
              ...unset,
              key: 'c',
              rate_limit: { ...limit, unit: 'MINUTE', requests_per_unit: 5 },
              descriptors: [],
            },
          ],
        },
      ]),
    ],
    { mergeDomains: false },
  );
  expect(files.map(({ diagnostics }) => diagnostics)).toEqual([[]]);
  expect(rules?.all.map(({ name, rate, limitName }) => [name, rate, limitName])).toEqual([
    ['d.a.b', undefined, undefined],
    ['d.a.c', { requestsPerUnit: 5, unit: 'minute' }, undefined],
  ]);
});

test('counts the limits of each file', () => {
  const { files } = examineRules(
    [fileOf([{ key: 'a', rate_limit: LIMIT }], 'x'), { name: 'y', value: { domain: 'e' } }],
    { mergeDomains: false },
  );
  expect(files.map(({ name, limits }) => [name, limits])).toEqual([
    ['x', 1],
    ['y', 0],
  ]);
});
