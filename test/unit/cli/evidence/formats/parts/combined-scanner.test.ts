/** It reads plain lines, and leaves every doubt to the layouts. */
import { expect, test } from 'vitest';
import { combinedScanner } from '../../../../../../src/cli/evidence/formats/parts/combined-scanner.ts';

const LINE =
  '203.0.113.9 - - [22/Nov/2026:11:30:00 +0000] "GET /login?a=1 HTTP/1.1" 200 512 "-" "curl/8"';
const scan = (line: string) => combinedScanner('UTC')(line);

test('a plain line', () => {
  expect(scan(LINE)).toMatchObject({
    ...{ startMs: Date.UTC(2026, 10, 22, 11, 30), method: 'GET', target: '/login?a=1' },
    ...{ host: undefined, address: '203.0.113.9', status: 200, userAgent: 'curl/8' },
  });
});

test.each([
  [100, 100],
  [599, 599],
  [999, 999],
  ['099', undefined],
  ['000', undefined],
  ['2x0', undefined],
  ['20', undefined],
  ['2000', undefined],
])('the status %s', (written, status) => {
  expect(scan(LINE.replace(' 200 ', ` ${written} `))?.status).toBe(status);
});

test.each([
  ['-', 'curl/8'],
  ['0', 'curl/8'],
])('%s bytes', (bytes, agent) => {
  expect(scan(LINE.replace('512', bytes))?.userAgent).toBe(agent);
});

test.each([
  ['a list of addresses', '203.0.113.9', '203.0.113.9,10.0.0.1'],
  ['no identity', ' - - ', ' x - '],
  ['an escape', 'curl/8', 'curl\\x22'],
  ['no time', '22/Nov/2026:11:30:00 +0000', '-'],
  ['a time that is none', '22/Nov', '99/Nov'],
  ['no protocol', ' HTTP/1.1', ''],
  ['an unusual method', 'GET', 'BREW'],
  ['a target that is no path', '/login', 'http://a/login'],
  ['no bytes', ' 512 ', '  '],
  ['bytes that are no number', '512', '5k'],
  ['no referer', ' "-" ', ' '],
  ['an agent with a quote', 'curl/8', 'cu"rl'],
  ['more after the agent', 'curl/8"', 'curl/8" 0.1'],
  ['no end of the agent', 'curl/8"', 'curl/8'],
])('%s is left to the layouts', (_, from, to) => {
  expect(LINE).toContain(from);
  expect(scan(LINE.replace(from, to))).toBeUndefined();
});

test('each line has its own time, also after one that is none', () => {
  const parse = combinedScanner('UTC');
  const minute = (line: string) => new Date(parse(line)?.startMs ?? Number.NaN).getUTCMinutes();
  expect(minute(LINE)).toBe(30);
  expect(minute(LINE.replace('11:30', '11:31'))).toBe(31);
  expect(minute(LINE.replace('22/Nov', '99/Nov'))).toBeNaN();
  expect([minute(LINE), minute(LINE)]).toEqual([30, 30]);
});
