/** Where the fields of a call stand, and which URL a gateway has. */
import { expect, test } from 'vitest';
import { httpCall, urlOf } from '../../../../src/cli/ops-client/gateway-client.ts';
import { operatorName, readUrl } from '../../../../src/cli/ops-client/gateway-options.ts';
import { OPERATIONS } from '../../../../src/gateway/operations/operation-table.ts';

test('a field of the path stands there, with escapes, and nowhere else', () => {
  const input = { policy: '../a b?', mode: 'off', for: '1h', reason: 'x', by: undefined };
  expect(httpCall(OPERATIONS.setMode, input)).toEqual({
    ...{ method: 'PUT', path: '/v1/policies/..%2Fa%20b%3F/mode' },
    body: '{"mode":"off","for":"1h","reason":"x"}',
  });
});

test('GET and DELETE have their fields in the query', () => {
  expect(httpCall(OPERATIONS.top, { limit: 5, shadow: false })).toEqual({
    ...{ method: 'GET', path: '/v1/clients/top?limit=5&shadow=false' },
  });
  expect(httpCall(OPERATIONS.restoreMode, { policy: '$&', by: 'a&b' })).toEqual({
    ...{ method: 'DELETE', path: '/v1/policies/%24%26/mode?by=a%26b' },
  });
  expect(httpCall(OPERATIONS.restoreLog, { by: undefined })).toEqual({
    ...{ method: 'DELETE', path: '/v1/log' },
  });
});

test.each([
  ['0.0.0.0', 'http://127.0.0.1:9464'],
  ['::', 'http://[::1]:9464'],
  ['::1', 'http://[::1]:9464'],
  ['127.0.0.2', 'http://127.0.0.2:9464'],
  ['gateway.example', 'http://gateway.example:9464'],
])('a gateway that listens on %s is reached at %s', (host, url) => {
  expect(urlOf(host, 9464)).toBe(url);
});

test.each([
  ['http://127.0.0.1:9464', 'http://127.0.0.1:9464'],
  ['https://gateway.example/ops//', 'https://gateway.example/ops'],
])('%s is taken as %s', (typed, url) => expect(readUrl(typed)).toBe(url));

test.each([
  'nonsense',
  'ftp://127.0.0.1',
  'http://user@host',
  'http://:pass@host',
  'http://h/?a=b',
])('%s is refused', (typed) => expect(() => readUrl(typed)).toThrow(/It must be a URL such as/));

test('the audit log gets the name that was typed, otherwise the account', () => {
  expect(operatorName({ by: 'ada' })).toBe('ada');
  expect(operatorName({})).toMatch(/./);
});
