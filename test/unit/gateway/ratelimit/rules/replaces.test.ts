/** `replaces`, as envoyproxy/ratelimit applies it (src/service/ratelimit.go at commit f2fb157). */
import { expect, test } from 'vitest';
import { withoutReplaced } from '../../../../../src/gateway/ratelimit/rules/compiled-rules.ts';
import { rulesFrom } from '../../../../support/rate-limit-rules.ts';

const RULES = rulesFrom(`
domain: d
descriptors:
  - { key: plain, rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: a, rate_limit: { unit: day, requests_per_unit: 1, name: a } }
  - { key: a2, rate_limit: { unit: day, requests_per_unit: 1, name: a } }
  - { key: free, rate_limit: { unlimited: true, name: free } }
  - { key: not_a, rate_limit: { unit: day, requests_per_unit: 1, replaces: [{ name: x }, { name: a }] } }
  - { key: free_of_a, rate_limit: { unlimited: true, replaces: [{ name: a }] } }
  - { key: not_free, rate_limit: { unit: day, requests_per_unit: 1, replaces: [{ name: free }] } }
  - { key: left, rate_limit: { unit: day, requests_per_unit: 1, name: left, replaces: [{ name: right }] } }
  - { key: right, rate_limit: { unit: day, requests_per_unit: 1, name: right, replaces: [{ name: left }] } }
`);

test.each([
  ['nothing', ['plain', 'a', 'nowhere'], ['d.plain', 'd.a', undefined]],
  ['a name, wherever it stands', ['a', 'not_a', 'a2'], [undefined, 'd.not_a', undefined]],
  ['a name that no match has', ['not_a', 'plain'], ['d.not_a', 'd.plain']],
  ['by an unlimited match', ['a', 'free_of_a'], [undefined, 'd.free_of_a']],
  ['an unlimited match, which stays', ['free', 'not_free'], ['d.free', 'd.not_free']],
  ['each other', ['left', 'right', 'plain'], [undefined, undefined, 'd.plain']],
  ['in a request of no descriptors', [], []],
])('replaces %s', (_, keys, expected) => {
  const matched = keys.map((key) => RULES.find('d', [{ key, value: 'x' }]));
  const before = [...matched];
  expect(withoutReplaced(matched).map((match) => match?.rule.name)).toEqual(expected);
  expect(matched).toEqual(before);
});
