/** Origins that a policy file may list. test/fixtures/policies has those that it may not. */
import { describe, expect, test } from 'vitest';
import { corsSchema } from '../../../../../src/gateway/config/policy-file/cors-schema.ts';

const read = (origins: unknown, more: object = {}) => corsSchema.safeParse({ origins, ...more });
const mistakesOf = (origins: unknown) => read(origins).error?.issues.map(({ message }) => message);

test.each([
  'https://app.example.com',
  'http://localhost:5173',
  'http://127.0.0.1:8000',
  'https://[2001:db8::1]:8443',
  'https://xn--bcher-kva.example',
  'https://a_b.example.com',
  // Browsers at such an address send it so.
  'https://app.example.com.',
  // Extensions of browsers, and apps in a web view.
  'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
  'moz-extension://0c9cd3f8-4a0b-4a6e-9c5b-1f1a2f0b9d6e',
  'capacitor://localhost',
  'null',
  '*',
])('%s is an origin', (origin) => {
  expect(read([origin]).data).toEqual({ origins: new Set([origin]), credentials: false });
});

describe('what browsers never send is refused, with the right form if it has one', () => {
  test.each([
    ['https://APP.example.com', 'https://app.example.com'],
    ['HTTPS://app.example.com', 'https://app.example.com'],
    ['https://app.example.com:443', 'https://app.example.com'],
    ['http://app.example.com:080', 'http://app.example.com'],
    ['https://app.example.com/', 'https://app.example.com'],
    ['https://app.example.com/path?query#part', 'https://app.example.com'],
    ['https://user:password@app.example.com', 'https://app.example.com'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['http://0x7f.1', 'http://127.0.0.1'],
    ['https://[2001:DB8:0::1]', 'https://[2001:db8::1]'],
    [' https://app.example.com', 'https://app.example.com'],
    ['capacitor://localhost/path', 'capacitor://localhost'],
  ])('%s', (written, right) => {
    expect(mistakesOf([written])).toEqual([`is not what browsers send, write "${right}"`]);
  });

  test.each([
    '',
    'app.example.com',
    'https://',
    'https://*.example.com',
    'https://app.example.com, https://b.example.com',
    'https://a"b.example.com',
    'https://app.example.com\r\nSet-Cookie: a=b',
    'file:///etc/passwd',
    'data:text/html,x',
    'about:blank',
    'https://app.example.com:99999',
    `https://${'a'.repeat(600)}.example.com`,
  ])('%j', (written) => {
    expect(mistakesOf([written])).toEqual([expect.stringMatching(/^must be an origin such as /)]);
  });
});

test('at least one, and at most a thousand', () => {
  const many = (count: number) => Array.from({ length: count }, (_, i) => `https://a${i}.example`);
  expect(read([]).success).toBe(false);
  expect(read(many(1_000)).data?.origins.size).toBe(1_000);
  expect(read(many(1_001)).success).toBe(false);
});

test('credentials need a list of origins', () => {
  expect(read(['*'], { credentials: true }).success).toBe(false);
  expect(read(['https://a.example'], { credentials: true }).data?.credentials).toBe(true);
});
