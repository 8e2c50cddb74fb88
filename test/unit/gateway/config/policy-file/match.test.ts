/** Bounds and wordings of methods and hosts. Patterns in paths are in path-template.test.ts. */
import { describe, expect, test } from 'vitest';
import { parsePartition } from '../../../../../src/gateway/config/policy-file/limit-schema.ts';
import {
  checkHostTemplate,
  checkMethodName,
} from '../../../../../src/gateway/config/policy-file/match.ts';
import {
  checkPathTemplate,
  targetOf,
} from '../../../../../src/gateway/config/policy-file/path-template.ts';

describe('a method', () => {
  test.each(['GET', 'M-SEARCH', 'A'.repeat(64)])('%s is valid', (text) => {
    expect(checkMethodName(text)).toBe(text);
  });
  test.each([
    ['A'.repeat(65), 'must be an upper-case method, such as POST'],
    ['get', '"get" must be an upper-case method, such as POST: write GET'],
    ['get, post', 'write [GET, POST]'],
    ['all', '"all" means every method: leave out "method"'],
    ['G3T', 'must be an upper-case method, such as POST'],
  ])('%s is refused: %s', (text, message) => {
    expect(() => checkMethodName(text)).toThrow(message);
  });
});

describe('a host', () => {
  const labels = (last: number) => `${'a'.repeat(62)}.`.repeat(3) + 'b'.repeat(last);
  test.each(['a', 'api.example.com', '*.example.com', labels(64)])('%s is valid', (text) => {
    expect(checkHostTemplate(text)).toBe(text);
  });
  test.each([
    [labels(65), 'must have at most 253 characters'],
    ['*.com.', 'write a lower-case host name'],
    ['{a}.com', 'write a lower-case host name'],
    ['{a}.example.com', 'write "*.example.com"'],
    ['*api.example.com', 'write "*.api.example.com"'],
    ['*', 'means every host: leave out "host"'],
    ['API.example.com:443', 'has a port: write "api.example.com"'],
  ])('%s is refused: %s', (text, message) => {
    expect(() => checkHostTemplate(text)).toThrow(message);
  });
});

describe('a path', () => {
  const long = (length: number) => `/${'a'.repeat(length - 1)}`;
  test.each(['/', '/a/:id/*', '/caf%C3%A9', '/%28a%29', long(1_024)])('%s is valid', (text) => {
    expect(checkPathTemplate(text)).toBe(text);
  });
  test.each([
    [long(1_025), 'must have at most 1024 characters'],
    ['/%3Aid', '"%3Aid" cannot be matched literally, write ":name" for this segment'],
    ['/a%3Fb', 'cannot be matched literally'],
    ['/a%zz', '"a%zz" has a "%" that is not an escape, write "%25" for a percent sign'],
    ['/a//b', 'never matches, because paths are compared as "/a/b": write that'],
    [
      '/{a,b}',
      'is a pattern, and paths have no patterns: write one policy for each of "/a" and "/b"',
    ],
    ['/{a,b,c,d}', 'write one policy for each of "/a", "/b", "/c" and "/d"'],
  ])('%s is refused: %s', (text, message) => {
    expect(() => checkPathTemplate(text)).toThrow(message);
  });
  test.each([
    ['/{a,b,c,d,e}', '"{a,b,c,d,e}" is a pattern, and paths have no patterns; if you'],
    ['/x{a}/../(b)', '"x{a}" is a pattern, and paths have no patterns; if you'],
    ['/a b|/c', '"/a b|/c" has several paths'],
  ])('%s is refused without a suggestion, since its meaning is unclear', (text, message) => {
    expect(() => checkPathTemplate(text)).toThrow(message);
    expect(() => checkPathTemplate(text)).not.toThrow('write "/');
    expect(() => checkPathTemplate(text)).not.toThrow('write one policy');
  });
  test('is sent with escapes for what a path cannot hold', () => {
    expect(targetOf('/a b/é?#%/(c)')).toBe('/a%20b/%C3%A9%3F%23%25/(c)');
    expect(targetOf('/\ud800')).toBe('/%EF%BF%BD');
  });
});

describe('per', () => {
  test.each(['client', 'ip', 'api_key', 'user', 'global', 'header:x-tenant'])('%s', (text) => {
    expect(parsePartition(text)).toBe(text);
  });
  test('has the name of its header in lower case', () => {
    expect(parsePartition('header:X-Tenant')).toBe('header:x-tenant');
  });
  test.each([
    ['header:x-real-ip', '"header:x-real-ip" holds an address, write "per: ip"'],
    ['header:', 'must name a header of letters, digits and "-"'],
    ['adress', 'must be client, ip, api_key, user, global or header:<name>, not "adress"'],
    ['Client', 'did you mean "client"?'],
  ])('%s is refused: %s', (text, message) => {
    expect(() => parsePartition(text)).toThrow(message);
  });
});
