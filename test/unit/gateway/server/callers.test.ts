import { describe, expect, test } from 'vitest';
import {
  compileSecretCheck,
  compileSecrets,
  isFromWebPage,
  SECRET_HEADER,
} from '../../../../src/gateway/server/callers.ts';

test('a secret matches if it is one of those that are accepted', () => {
  const isSecret = compileSecrets(['first-secret', 'second']);
  expect(['first-secret', 'second'].map(isSecret)).toEqual([true, true]);
});

test.each(['', 'First-secret', 'first-secre', 'first-secret ', 'first-secret,second', 'secret'])(
  '%j does not match',
  (given) => expect(compileSecrets(['first-secret', 'second'])(given)).toBe(false),
);

test('without an accepted secret nothing matches, not even an empty one', () => {
  expect(compileSecrets([])('')).toBe(false);
});

test('bytes beyond ASCII are compared as headers carry them', () => {
  const isSecret = compileSecrets(['geh\u00e9im']);
  expect(isSecret('geh\u00e9im')).toBe(true);
  expect(isSecret('geheim')).toBe(false);
});

const sent = (secret: string | string[] | undefined) => ({ [SECRET_HEADER]: secret });

describe('the proxy secret', () => {
  test('is sent as x-headgate-secret', () => {
    expect(SECRET_HEADER).toBe('x-headgate-secret');
  });

  test('is not required if none is configured', () => {
    const hasSecret = compileSecretCheck([]);
    expect(hasSecret({})).toBe(true);
    expect(hasSecret(sent('any'))).toBe(true);
  });

  test('is any of those that are configured, so that it can be changed without downtime', () => {
    const hasSecret = compileSecretCheck(['the first', 'the second']);
    expect(hasSecret(sent('the first'))).toBe(true);
    expect(hasSecret(sent('the second'))).toBe(true);
  });

  test.each([
    [undefined],
    [''],
    ['the firs'],
    ['the first '],
    ['The first'],
    ['the first, the first'],
    [['the first']],
  ])('is not %j', (given) => {
    expect(compileSecretCheck(['the first'])(sent(given))).toBe(false);
  });

  test('may have characters beyond ASCII, as Node reads headers', () => {
    const hasSecret = compileSecretCheck(['gehe\u00efm']);
    expect(hasSecret(sent('gehe\u00efm'))).toBe(true);
    expect(hasSecret(sent('geheim'))).toBe(false);
  });
});

describe('a request', () => {
  test.each([
    [{}],
    [{ 'sec-fetch-site': 'none' }],
    [{ 'sec-fetch-site': 'same-origin' }],
    [{ referer: 'http://evil.example/' }],
  ])('with %j is not from a foreign page', (headers) => {
    expect(isFromWebPage(headers)).toBe(false);
    expect(isFromWebPage(headers, 'http://localhost')).toBe(false);
  });

  test.each([
    [{ 'sec-fetch-site': 'same-site' }],
    [{ 'sec-fetch-site': 'cross-site' }],
    [{ 'sec-fetch-site': '' }],
    [{ 'sec-fetch-site': 'None' }],
    [{ origin: '' }],
    [{ origin: 'null' }],
    [{ origin: 'http://evil.example' }],
    [{ origin: 'http://evil.example', 'sec-fetch-site': 'same-origin' }],
    [{ origin: 'http://localhost', 'sec-fetch-site': 'cross-site' }],
  ])('with %j is from a foreign page', (headers) => {
    expect(isFromWebPage(headers)).toBe(true);
    expect(isFromWebPage(headers, 'http://localhost')).toBe(true);
  });

  test('with the own origin is from a foreign page only if there is none', () => {
    const headers = { origin: 'http://localhost', 'sec-fetch-site': 'same-origin' };
    expect(isFromWebPage(headers)).toBe(true);
    expect(isFromWebPage(headers, 'http://localhost')).toBe(false);
  });
});
