import { expect, test } from 'vitest';
import { diagnosticsIn } from '../../../cli/check/advice/diagnostics-in.ts';

const messagesIn = (sections: string) =>
  diagnosticsIn(`{ version: 1, ${sections} }`).map(({ path, message }) => `${path}: ${message}`);
const DEFAULT = 'default: { limits: [1/1s] }';

test('names 50 unknown keys of a map, and the number of the others', () => {
  const keys = (count: number) =>
    Array.from({ length: count }, (_, i) => `unknown-${i}: 1`).join(', ');
  const inMatching = (count: number) => messagesIn(`${DEFAULT}, matching: { ${keys(count)} }`);
  expect(inMatching(50)).toHaveLength(50);
  expect(inMatching(53)).toHaveLength(51);
  expect(inMatching(53)).toContain('matching: has 3 more unknown keys');
});

test('reports at most 100 mistakes of a section, and 1000 of a file', () => {
  const wrong = (count: number) => Array.from({ length: count }, () => 'x').join(', ');
  expect(messagesIn(`${DEFAULT}, exempt: [${wrong(150)}]`)).toHaveLength(100);
  const policies = Array.from({ length: 1_100 }, (_, i) => `{ nam: a${i} }`).join(', ');
  const found = messagesIn(`${DEFAULT}, policies: [${policies}]`);
  expect(found.length).toBeGreaterThanOrEqual(1_000);
  expect(found.length).toBeLessThan(1_010);
});

test.each([
  [`${DEFAULT}, policies: {}`, 'policies: must be a list, not a map, begin each entry with "- "'],
  [
    `${DEFAULT}, answers: { cors: { origins: "*" } }`,
    'answers.cors.origins: must be a list, not text, write ["*"]',
  ],
  [`${DEFAULT}, matching: []`, 'matching: must be a map, not a list'],
  [
    `${DEFAULT}, matching: { case_sensitive: 1 }`,
    'matching.case_sensitive: must be true or false, not 1',
  ],
  [
    `${DEFAULT}, answers: { body: [json] }`,
    'answers.body: must be json, problem+json, json-rpc or openai, not a list',
  ],
  [
    `${DEFAULT}, answers: { retry_after_jitter_seconds: 301 }`,
    'answers.retry_after_jitter_seconds: must be at most 300',
  ],
  [`${DEFAULT}, exempt: [{ key: "" }]`, 'exempt[0].key: must have at least 1 character'],
  [
    `${DEFAULT}, exempt: [{ key: ${'k'.repeat(65)} }]`,
    'exempt[0].key: must have at most 64 characters',
  ],
  [
    `default: { limits: [${Array.from({ length: 17 }, (_, i) => `1/${i + 1}s`).join(', ')}] }`,
    'default.limits: must have at most 16 entries',
  ],
  [
    `${DEFAULT}, exempt: ["64:ff9b::/96"]`,
    'exempt[0]: is a NAT64 range, write the IPv4 range instead',
  ],
  [`${DEFAULT}, exempt: [10.0.0.0/00]`, 'exempt[0]: contains every address, name a narrower range'],
  [
    `${DEFAULT}, policies: [{ name: none, match: { path: /a }, limits: [1/1s] }]`,
    'policies[0].name: is reserved, choose another name',
  ],
  ['default: 5', 'default: must be a map, not 5'],
])('%s', (sections, expected) => {
  expect(messagesIn(sections)).toEqual([expected]);
});

test('suggests a key of the map that has the unknown one, also where a text may be', () => {
  expect(messagesIn('default: { limits: [{ rate: 1/1s, brust: 2 }] }')).toEqual([
    'default.limits[0].brust: is not a known key, did you mean "burst"?',
  ]);
});
