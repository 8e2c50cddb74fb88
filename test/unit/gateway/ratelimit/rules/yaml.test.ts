/** How YAML is read: as by the parser of envoyproxy/ratelimit (yaml.v2 of Go), with which these rows were compared. */
import { describe, expect, test } from 'vitest';
import { readRuleFile } from '../../../../../src/gateway/ratelimit/rules/rule-file.ts';
import { entriesFrom, examined, rulesFrom } from '../../../../support/rate-limit-rules.ts';

const valueIn = (text: string) => readRuleFile('rules.yaml', text).value;

test.each([
  ['5', 5],
  ['010', 8],
  ['0o17', 15],
  ['0x1f', 31],
  ['0b101', 5],
  ['1_000', 1_000],
  ['+7', 7],
  ['0', 0],
])('requests_per_unit: %s is %i', (written, requests) => {
  const text = `domain: d\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: ${written} } }]\n`;
  expect(rulesFrom(text).all[0]?.rate?.requestsPerUnit).toBe(requests);
});

test.each(['"5"', '-1', '5.0', '5e0', '1:30', '.5', '0x', '4294967296', '1e400', 'five', '[5]'])(
  'requests_per_unit: %s is refused',
  (written) => {
    const text = `domain: d\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: ${written} } }]\n`;
    expect(examined(text).rules).toBeUndefined();
  },
);

test.each([
  ['yes', true],
  ['On', true],
  ['y', true],
  ['TRUE', true],
  ['no', false],
  ['off', false],
  ['N', false],
  ['~', false],
  ['', false],
])('shadow_mode: %s is %s', (written, isShadow) => {
  const text = `domain: d\ndescriptors:\n- key: k\n  rate_limit: { unlimited: true }\n  shadow_mode: ${written}\n`;
  expect(rulesFrom(text).all[0]?.isShadow).toBe(isShadow);
});

test.each([
  'yes',
  '010',
  '0x1F',
  'true',
  '1_000',
  '-5',
  '2001-01-01',
  '1:30',
  'on',
  '+1',
  '9223372036854775807',
])('value: %s is text as it is written', (written) => {
  const text = `domain: d\ndescriptors: [{ key: k, value: ${written}, rate_limit: { unlimited: true } }]\n`;
  expect(rulesFrom(text).all[0]?.name).toBe(`d.k_${written}`);
});

test.each(['~', 'null', '""', ''])('value: %s is no value', (written) => {
  const text = `domain: d\ndescriptors:\n- key: k\n  value: ${written}\n  rate_limit: { unlimited: true }\n`;
  expect(rulesFrom(text).all[0]?.name).toBe('d.k');
});

describe('aliases and merge keys', () => {
  test('give the values that they name', () => {
    const text = `
domain: d
descriptors:
  - key: a
    rate_limit: &usual { unit: day, requests_per_unit: 5 }
  - { key: b, rate_limit: *usual }
  - { key: c, rate_limit: { <<: *usual, requests_per_unit: 6 } }
`;
    expect(rulesFrom(text).all.map(({ rate }) => rate)).toEqual([
      { requestsPerUnit: 5, unit: 'day' },
      { requestsPerUnit: 5, unit: 'day' },
      { requestsPerUnit: 6, unit: 'day' },
    ]);
  });
  test.each([
    // A key after "<<" wins, and one before it loses.
    ['{ <<: *x, key: b }', { key: 'b', value: 'v' }],
    ['{ key: b, <<: *x }', { key: 'a', value: 'v' }],
    // Of several maps the first wins.
    ['{ <<: [*x, { key: c, value: w, name: n }] }', { key: 'a', value: 'v', name: 'n' }],
    ['{ <<: [], key: b }', { key: 'b' }],
    ['{ "<<": b }', { '<<': 'b' }],
  ])('%s', (written, expected) => {
    const value = valueIn(`descriptors: [&x { key: a, value: v }, ${written}]\n`);
    expect((value as { descriptors: unknown[] }).descriptors[1]).toEqual(expected);
  });
  test('merge the keys of a limit, and replace others', () => {
    const text = `
domain: d
descriptors:
  - &x { key: a, rate_limit: { unit: day, requests_per_unit: 5 }, descriptors: [{ key: x, rate_limit: { unlimited: true } }] }
  - { <<: *x, key: b, rate_limit: { requests_per_unit: 6 }, descriptors: [] }
`;
    const { all } = rulesFrom(text);
    expect(all.map(({ name, rate }) => [name, rate?.requestsPerUnit])).toEqual([
      ['d.a', 5],
      ['d.a.x', undefined],
      ['d.b', 6],
    ]);
  });
  test('an alias means the last anchor before it', () => {
    const text = 'descriptors: [{ key: &k a }, { key: *k }, { key: &k b }, { key: *k }]\n';
    expect(valueIn(text)).toEqual({
      descriptors: [{ key: 'a' }, { key: 'a' }, { key: 'b' }, { key: 'b' }],
    });
  });
  test('may be many', () => {
    const uses = Array.from({ length: 500 }, (_, i) => `- { key: k${i}, rate_limit: *l }`);
    const text = `domain: d\ndescriptors:\n- { key: k, rate_limit: &l { unlimited: true } }\n${uses.join('\n')}\n`;
    expect(rulesFrom(text).all).toHaveLength(501);
  });
  test('keep what anchors in metadata name', () => {
    const text = 'domain: d\ndescriptors: [{ key: a, metadata: { x: &x b } }, { key: *x }]\n';
    expect(valueIn(text)).toMatchObject({ descriptors: [{ metadata: {} }, { key: 'b' }] });
  });
});

test('the last of repeated keys counts, and both parts of a repeated limit', () => {
  const text = `
domain: d
domain: e
descriptors:
  - key: a
    rate_limit: { unit: day, requests_per_unit: 1 }
    rate_limit: { requests_per_unit: 2 }
`;
  const rules = rulesFrom(text);
  expect(rules.hasDomain('d')).toBe(false);
  expect(rules.find('e', entriesFrom('a=1'))?.rule.rate).toEqual({
    requestsPerUnit: 2,
    unit: 'day',
  });
});

test('only the first document counts', () => {
  const { rules, files } = examined('---\ndomain: d\n---\ndomain: e\nnonsense: [\n');
  expect(rules?.hasDomain('d')).toBe(true);
  expect(rules?.hasDomain('e')).toBe(false);
  expect(files[0]?.diagnostics.map(({ rule }) => rule)).toEqual(['ratelimit-second-document']);
});

test('a byte order mark and Windows line ends change nothing', () => {
  expect(valueIn('\ufeffdomain: d\r\ndescriptors: []\r\n')).toEqual({
    domain: 'd',
    descriptors: [],
  });
});
