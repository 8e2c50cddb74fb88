/** Own texts and pages of answers: what is refused, and what is sent. */
import { expect, test } from 'vitest';
import type { FileError } from '../../../../../src/gateway/config/diagnostic.ts';
import {
  checkedMessage,
  pageInOneLine,
} from '../../../../../src/gateway/config/policy-file/answer-texts.ts';
import { policySetFrom } from '../../../../support/policies.ts';

test.each([
  ['<p>\n  a\r\n\tb </p>\n', '<p> a b </p>'],
  ['\uFEFF<p>é 🛑</p>', '<p>&#233; &#128721;</p>'],
  ['<style>a{color:red}\n b{}</style>{id}', '<style>a{color:red} b{}</style>{id}'],
])('%j is sent in one line of ASCII', (html, line) => {
  expect(pageInOneLine(html)).toBe(line);
});

test.each([
  ['Sorry', /must be HTML/],
  ['<p>{second}</p>', /has \{second\}, which stands for nothing/],
  ['<p>{ seconds }</p>', /has \{ seconds \}, which stands for nothing/],
  ['<script>// a\nb</script>', /has <script>, which needs its line breaks/],
  ['<PRE>a\nb</PRE>', /has <PRE>/],
  ['<style>a::after{content:"é"}</style>', /beyond ASCII in <style>/],
  ['<p>\u0000</p>', /U\+0/],
  [`<p>${'x'.repeat(8_190)}`, /may have 8193 bytes in one line .* the maximum is 8192/],
  [`<p>${'{policy}'.repeat(128)}`, /may have 8195 bytes/],
  [`<p>${'é'.repeat(2_000)}`, /may have 12003 bytes/],
])('the page %j is refused', (html, why) => {
  expect(() => pageInOneLine(html)).toThrow(why);
});

test('a page of many megabytes is refused soon', () => {
  expect(() => pageInOneLine(`<p>${' '.repeat(4_000_000)}x`)).toThrow(/the maximum is 8192/);
  expect(() => pageInOneLine('<style '.repeat(500_000))).toThrow(/the maximum is 8192/);
});

test.each(['', 'x'.repeat(1_001), '{wait}'])('the text %j is refused', (text) => {
  expect(() => checkedMessage(text)).toThrow(RangeError);
});

test('a page can be the name of a file, of the file and of a policy', () => {
  const { answers, policies } = policySetFrom(`
version: 1
answers: { page: denied.html }
default: { limits: [5/1min] }
policies: [{ name: own, match: { path: /own }, limits: [5/1min], answers: { page: own.htm } }]`);
  expect(answers.page?.join('|')).toBe('<p>denied.html |seconds|</p>');
  expect(policies[0]?.answers?.page?.join('|')).toBe('<p>own.htm |seconds|</p>');
});

test('a mistake has the place of the key', () => {
  const file = 'version: 1\ndefault: { limits: [5/1min], answers: { page: "<p>{x}" } }';
  try {
    policySetFrom(file);
    expect.unreachable();
  } catch (error) {
    expect((error as FileError).mistakes).toEqual([
      expect.stringMatching(/^policies\.yaml:2:\d+: default\.answers\.page: has \{x\}/),
    ]);
  }
});
