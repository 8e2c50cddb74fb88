import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const textOf = (path: string) => {
  return readFileSync(new URL(`../../../../../../${path}`, import.meta.url), 'utf8');
};

test('the inside of ioredis was read in the version that package.json pins', () => {
  const repairs = 'src/gateway/stores/redis/ioredis/repairs.ts';
  const [header = ''] = textOf(repairs).split('*/');
  const [, read] = /ioredis\s+(?:\*\s+)?(\d+\.\d+\.\d+)/.exec(header) ?? [];
  const pinned = JSON.parse(textOf('package.json')).dependencies.ioredis;
  const explanation = `package.json pins ioredis ${pinned}, but headgate changes parts inside of it that were read in ${read}.
A release may change these without notice. Check each item in the header of ${repairs} against ${pinned}, run the tests
that the header names, then write the new version there.`;
  expect(read, explanation).toBe(pinned);
});
