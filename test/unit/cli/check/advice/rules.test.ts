import { expect, test } from 'vitest';
import { RULES } from '../../../../../src/gateway/config/diagnostic.ts';

test.each(Object.entries(RULES))('%s has an id and sentences', (rule, text) => {
  expect(rule).toMatch(/^[a-z0-9]+(-[a-z0-9]+)+$/);
  for (const sentence of [text.meaning, text.remedy])
    expect(sentence).toMatch(/^([A-Z`]|headgate).*\.$/);
});
