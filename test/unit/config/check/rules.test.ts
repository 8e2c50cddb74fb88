import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { checkDocument } from '../../../../src/config/check/rules-document.ts';
import { RULES, type RuleText } from '../../../../src/config/rules.ts';

test('docs/check.md is what headgate check --rules prints (else: npm run docs:check)', () => {
  const shipped = readFileSync(new URL('../../../../docs/check.md', import.meta.url), 'utf8');
  expect(shipped).toBe(checkDocument());
});

test.each(Object.entries<RuleText>(RULES))('%s has an id and sentences', (rule, text) => {
  expect(rule).toMatch(/^[a-z0-9]+(-[a-z0-9]+)+$/);
  for (const sentence of [text.meaning, text.remedy]) expect(sentence).toMatch(/^[A-Z].*\.$/);
});
