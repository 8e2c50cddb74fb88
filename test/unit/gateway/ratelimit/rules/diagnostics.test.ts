/** Every mistake of a rate limit file has its rule, its place and a remedy in its message. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { RULES } from '../../../../../src/gateway/config/diagnostic.ts';
import { examineRules } from '../../../../../src/gateway/ratelimit/rules/compile.ts';
import { readRuleFile } from '../../../../../src/gateway/ratelimit/rules/rule-file.ts';
import { lineOf } from '../../../cli/check/advice/diagnostics-in.ts';

const FIXTURES = new URL('../../../../fixtures/ratelimit/', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, FIXTURES), 'utf8');
const names = readdirSync(FIXTURES).filter((name) => name.endsWith('.yaml'));

function diagnosticsIn(name: string) {
  const { files } = examineRules([readRuleFile(name, read(name))], { mergeDomains: false });
  return files.flatMap(({ diagnostics }) => diagnostics);
}

test.each(names)('%s', async (name) => {
  const found = diagnosticsIn(name).map((each) => `${lineOf(each)}\n`);
  await expect(found.join('')).toMatchFileSnapshot(
    fileURLToPath(new URL(name.replace('.yaml', '.txt'), FIXTURES)),
  );
});

test('each rule about the text of one file has a fixture', () => {
  const found = names.flatMap(diagnosticsIn).map(({ rule }) => rule);
  // Of several files, of large ones, and of directories.
  const elsewhere = [
    'ratelimit-domain-twice',
    'ratelimit-too-large',
    'ratelimit-folder-not-entered',
  ];
  const rules = Object.keys(RULES).filter((rule) => rule.startsWith('ratelimit-'));
  const ours = found.filter((rule) => rule.startsWith('ratelimit-'));
  expect(new Set([...ours, ...elsewhere])).toEqual(new Set(rules));
});

test('each diagnostic about a value shows its line', () => {
  const placed = names.flatMap(diagnosticsIn).filter(({ path }) => path.includes('.'));
  expect(placed.length).toBeGreaterThan(40);
  for (const { excerpt, message } of placed) expect(excerpt, message).toBeDefined();
});
