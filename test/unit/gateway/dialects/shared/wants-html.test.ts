import { expect, test } from 'vitest';
import { wantsHtml } from '../../../../../src/gateway/dialects/shared/wants-html.ts';

test.each([
  'text/html',
  'TEXT/HTML; charset=utf-8',
  'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'application/json, text/html;q=0.1',
  'text/html;q=0, text/html;level=1',
  'text/html;q=0.01',
])('%s wants HTML', (accept) => {
  expect(wantsHtml(accept)).toBe(true);
});

test.each([
  '',
  '*/*',
  'text/*',
  'application/json',
  'text/html;q=0',
  'text/html ; q=0.000',
  'application/json, text/html;q=0;level=1',
  'text/htmlx',
  'x-text/html',
  'application/text/html',
  'text/html/x',
])('%s does not', (accept) => {
  expect(wantsHtml(accept)).toBe(false);
});

test('a long header takes no long time', () => {
  const blanks = ' '.repeat(16_000);
  expect(wantsHtml(`,${blanks}text/html;${blanks}q=0${blanks}x`)).toBe(true);
  expect(wantsHtml(`${`,${blanks}`}${';q=0 '.repeat(3_000)}`)).toBe(false);
});
