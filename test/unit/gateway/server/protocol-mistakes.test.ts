import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, test } from 'vitest';
import { MAX_HEADERS, protocolMistake } from '../../../../src/gateway/server/check-server.ts';

function mistakeIn(headers: IncomingHttpHeaders, { major = 1, lines = 1 } = {}) {
  const rawHeaders = Array.from({ length: 2 * lines }, () => 'a');
  return protocolMistake({ httpVersionMajor: major, headers, rawHeaders });
}

describe('accepts', () => {
  test.each([
    [{}],
    [{ host: '' }],
    [{ host: 'api.example.com:8000' }],
    [{ host: '[::1]:80' }],
    [{ 'transfer-encoding': 'chunked' }],
    [{ 'transfer-encoding': 'gzip, Chunked' }],
  ])('%j', (headers) => {
    expect(mistakeIn(headers)).toBeUndefined();
  });

  test(`${MAX_HEADERS} headers`, () => {
    expect(MAX_HEADERS).toBe(256);
    expect(mistakeIn({}, { lines: MAX_HEADERS })).toBeUndefined();
  });
});

describe('refuses', () => {
  test.each([
    ['Host', { host: 'a, b' }],
    ['Host', { host: 'a/b' }],
    ['Host', { host: 'a b' }],
    ['transfer coding', { 'transfer-encoding': 'gzip' }],
    ['transfer coding', { 'transfer-encoding': 'chunked, gzip' }],
    ['transfer coding', { 'transfer-encoding': 'xchunked' }],
  ])('a wrong %s: %j', (what, headers) => {
    const mistake = mistakeIn(headers);
    expect(mistake?.message).toContain(what);
    // The dialect says which status its proxy passes on.
    expect(mistake?.status).toBeUndefined();
  });

  test('another major version of HTTP', () => {
    expect(mistakeIn({}, { major: 2 })?.message).toContain('HTTP/1.1');
  });

  test('more headers, with 431 whatever the proxy', () => {
    const mistake = mistakeIn({ host: 'a, b' }, { lines: MAX_HEADERS + 1 });
    expect(mistake).toEqual({ status: 431, message: 'A request can have at most 256 headers.' });
  });
});
