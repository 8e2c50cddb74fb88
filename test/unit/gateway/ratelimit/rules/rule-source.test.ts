/** Rate limit files that are read again: small ones at once, large ones in a thread. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ruleSource } from '../../../../../src/gateway/ratelimit/rules/rule-source.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-rules-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (text: string, name = 'edge.yaml') => writeFileSync(join(folder, name), text);
const source = () => ruleSource({ path: folder, mergeDomains: false });

const LIMIT = 'rate_limit: { unit: minute, requests_per_unit: 3 }';
const one = (key: string) => `  - { key: ${key}, ${LIMIT} }\n`;
/** With every kind of value: they go from one thread to the other. */
const odd = `  - key: odd
    value: "010"
    detailed_metric: yes
    metadata: { owner: edge }
    rate_limit: { unit: day, requests_per_unit: 4294967295, name: Odd, replaces: [{ name: other }] }
`;
const many = Array.from({ length: 500 }, (_, i) => one(`key${i}`)).join('');
const file = (descriptors: string) => `domain: edge\ndescriptors:\n${descriptors}`;

test('large files are read in a thread, with the same result', async () => {
  write(file(odd + many));
  const rules = source();
  const here = rules.read();
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  const elsewhere = await rules.readAgain();
  clearInterval(timer);
  expect(turns).toBeGreaterThan(3);
  expect(elsewhere.all).toEqual(here.all);
  expect(elsewhere.all).toHaveLength(501);
});

test('small files are read at once', async () => {
  write(file(one('a')));
  const { all } = await source().readAgain();
  expect(all).toHaveLength(1);
});

test.each([
  ['small', ''],
  ['large', many],
])('mistakes of %s files have their place', async (_, rest) => {
  write(file(one('a') + rest));
  const rules = source();
  rules.read();
  write(file(one('a').replace('minute', 'fortnight') + rest));
  await expect(rules.readAgain()).rejects.toThrow(/edge\.yaml:3:35: .*must be second/);
  // They are not tried again before they change.
  expect(rules.pending()).toBe(undefined);
});

test('a file that changes while it is read is read again', async () => {
  write(file(many));
  const rules = source();
  rules.read();
  write(file(many + one('a')));
  const reading = rules.readAgain();
  write(file(many + one('a') + one('b')));
  await reading;
  expect(rules.pending()).toBeDefined();
  expect((await rules.readAgain()).all).toHaveLength(502);
  expect(rules.pending()).toBe(undefined);
});

test('a folder without files says so', async () => {
  await expect(source().readAgain()).rejects.toThrow(
    /: the folder has no file with limits, put one there$/,
  );
});
