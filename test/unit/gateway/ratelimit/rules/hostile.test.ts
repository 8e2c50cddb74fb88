/** Files and requests that were made to take long, to fill the memory, or to end the process. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../../../../src/gateway/config/diagnostic.ts';
import { compileRules, examineRules } from '../../../../../src/gateway/ratelimit/rules/compile.ts';
import { explainMatch } from '../../../../../src/gateway/ratelimit/rules/describe.ts';
import { readRuleFile } from '../../../../../src/gateway/ratelimit/rules/rule-file.ts';
import { rounds } from '../../../../support/short-form.ts';

const LIMIT = { unit: 'minute', requests_per_unit: 5 };

function mistakesIn(descriptors: unknown, more: object = {}): readonly string[] {
  try {
    const value = { domain: 'd', descriptors, ...more };
    compileRules([{ name: 'cds', value }], { mergeDomains: false });
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
  return [];
}

const mistakesInText = (text: string) =>
  examineRules([readRuleFile('a.yaml', text)], { mergeDomains: false }).files.flatMap(
    ({ diagnostics }) => diagnostics.map(({ message }) => message),
  );

describe('a configuration', () => {
  test('of more than a million descriptors is refused, wherever they are', () => {
    const thousand = Array.from({ length: 1_000 }, (_, i) => ({ key: `k${i}`, rate_limit: LIMIT }));
    const million = Array.from({ length: 1_000 }, (_, i) => ({
      key: `k${i}`,
      descriptors: thousand,
    }));
    expect(mistakesIn(million)).toEqual([
      'cds: descriptors[999].descriptors[0]: is one too many: the files have more than 1000000 descriptors and names to replace',
    ]);
  });
  test('of too many names to replace is refused', () => {
    const replaces = Array.from({ length: 1_000_000 }, () => ({ name: 'a' }));
    expect(mistakesIn([{ key: 'k', rate_limit: { ...LIMIT, replaces } }])).toEqual([
      'cds: descriptors[0].rate_limit.replaces[999999]: is one too many: the files have too many descriptors and names to replace',
    ]);
  });
  test('of more than 32 levels is refused', () => {
    const nested = (levels: number) => {
      let descriptors: unknown[] = [{ key: 'k', rate_limit: LIMIT }];
      for (let i = 1; i < levels; i++) descriptors = [{ key: 'k', descriptors }];
      return descriptors;
    };
    expect(mistakesIn(nested(32))).toEqual([]);
    expect(mistakesIn(nested(33))).toEqual([
      expect.stringMatching(/descriptors: are nested deeper than 32 levels$/),
    ]);
    expect(mistakesIn(nested(200_000))).toHaveLength(1);
  });
  test('that nests deeply where nothing counts is refused', () => {
    let unit: unknown = {};
    for (let i = 0; i < 200_000; i++) unit = i % 2 === 0 ? { unit } : [unit];
    expect(mistakesIn([], { unit })).toEqual([
      expect.stringMatching(/(is nested too deeply|must be a map, not a list)$/),
    ]);
  });
  test('whose names would fill the memory is refused', () => {
    const below = Array.from({ length: 1_000 }, (_, i) => ({ key: `k${i}`, rate_limit: LIMIT }));
    const [mistake, ...others] = mistakesIn([{ key: 'k'.repeat(1_000_000), descriptors: below }]);
    expect(mistake).toMatch(/makes the names of limits too long, use shorter keys and values$/);
    expect(others).toEqual([]);
  });
});

describe('a text', () => {
  test.each([
    ['of 17 MB', `# ${'x'.repeat(17_000_000)}`, /^the file has 17000002 bytes/],
    ['of many parts', 'a:\n'.repeat(1_000_001), /^the file has more than 1000000 values/],
    ['of many brackets', '['.repeat(900_000), /^the file is nested deeper than 64 levels$/],
    ['of many list markers', '- '.repeat(8_000_000), /^the file is nested deeper than 64 levels$/],
  ])('%s is refused before it is parsed', (_, text, expected) => {
    expect(mistakesInText(text)).toEqual([expect.stringMatching(expected)]);
  });
  test('whose aliases repeat themselves is refused', () => {
    const lines = Array.from(
      { length: 60 },
      (_, i) => `- &a${i + 1} { <<: [*a${i}, *a${i}], key: k${i} }`,
    );
    const text = `domain: d\ndescriptors:\n- &a0 { key: k }\n${lines.join('\n')}\n`;
    expect(mistakesInText(text)).toEqual([
      'aliases repeat too much of the file, write their values out',
    ]);
  });
  test('whose aliases nest deeply is refused', () => {
    const lines = Array.from(
      { length: 90 },
      (_, i) => `- key: k${i}\n  descriptors: &a${i + 1} [{ key: k, descriptors: *a${i} }]`,
    );
    const text = `domain: d\ndescriptors:\n- key: k\n  descriptors: &a0 []\n${lines.join('\n')}\n`;
    expect(mistakesInText(text)).toEqual([
      'aliases make the file nest too deeply here, write their values out',
    ]);
  });
  test('whose alias is inside of what it names is refused', () => {
    expect(mistakesInText('domain: d\ndescriptors: &a [{ key: k, descriptors: *a }]\n')).toEqual([
      'aliases make the file nest too deeply here, write their values out',
    ]);
  });
  test('of any characters is read or refused', () => {
    const part = fc.constantFrom(
      ...['domain', 'descriptors', 'key', 'value', 'rate_limit', 'unit', 'headgate', '__proto__'],
      ...[': ', ':\n', '\n', '\n  ', '- ', '{', '}', '[', ']', ', ', '"', '\0', '\ud800', '\t'],
      ...['&a ', '*a', '<<: ', '---\n', '!!int ', '!x ', '|\n', '010', '.inf', 'yes', '*', '# x\n'],
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
        const { rules, files } = examineRules([readRuleFile('a', `domain: d\n${parts.join('')}`)], {
          mergeDomains: false,
        });
        const errors = files[0]?.diagnostics.filter(({ severity }) => severity === 'error') ?? [];
        expect(rules === undefined).toBe(errors.length > 0);
      }),
      { numRuns: rounds(2_000) },
    );
  });
  test('of any values is compiled or refused', () => {
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.constantFrom(null, undefined, true, 5, -1, 1.5, 'minute', '*', '', Number.NaN),
        fc.array(tie('any'), { maxLength: 3 }),
        fc.dictionary(
          fc.constantFrom(
            'key',
            'value',
            'descriptors',
            'rate_limit',
            'unit',
            'replaces',
            'name',
            'headgate',
            'x',
          ),
          tie('any'),
        ),
      ),
    })).any;
    fc.assert(
      fc.property(value, value, (descriptors, domain) => {
        const file = { name: 'cds', value: { domain, descriptors } };
        expect(() => examineRules([file], { mergeDomains: false })).not.toThrow();
      }),
      { numRuns: rounds(2_000) },
    );
  });
});

describe('a request', () => {
  const rules = compileRules(
    [
      {
        name: 'cds',
        value: {
          domain: 'd',
          descriptors: [
            { key: 'k', value: '*a*b*c*', rate_limit: LIMIT },
            { key: 'k', value: '*a*a*a*a*a*a*a*a*a*a*a*a*x', rate_limit: LIMIT },
            { key: 'k', rate_limit: LIMIT },
          ],
        },
      },
    ],
    { mergeDomains: false },
  );
  const nameFor = (value: string) => rules.find('d', [{ key: 'k', value }])?.rule.name;
  test.each([
    ['a', 'a'.repeat(65_536), 'd.k'],
    ['ab', 'ab'.repeat(32_768), 'd.k'],
    ['a and c', 'ac'.repeat(32_768), 'd.k'],
    ['a to the end', `${'a'.repeat(65_535)}x`, 'd.k_*a*a*a*a*a*a*a*a*a*a*a*a*x'],
    ['stars', '*'.repeat(65_536), 'd.k'],
    ['ab, then c', `${'ab'.repeat(32_767)}c`, 'd.k_*a*b*c*'],
  ])('with a value of 64 KiB of %s', (_, value, name) => {
    for (let i = 0; i < 1_000; i++) expect(nameFor(value)).toBe(name);
  });
  test('with many entries', () => {
    const entries = Array.from({ length: 10_000 }, () => ({ key: 'k', value: 'a' }));
    expect(rules.find('d', entries)).toBeUndefined();
  });
  test('is explained in short lines', () => {
    const steps = explainMatch(rules, 'd', [{ key: 'k', value: 'x'.repeat(65_536) }]);
    for (const { what } of steps) expect(what.length).toBeLessThan(500);
  });
});

test('control characters in names stay as they are, for the outputs to escape', () => {
  const name = 'k\u0000\u001b[31m\u202e\n';
  const rules = compileRules(
    [{ name: 'cds', value: { domain: 'd', descriptors: [{ key: name, rate_limit: LIMIT }] } }],
    { mergeDomains: false },
  );
  expect(rules.find('d', [{ key: name, value: '' }])?.rule.name).toBe(`d.${name}`);
});
