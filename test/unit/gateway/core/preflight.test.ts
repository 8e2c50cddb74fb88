import { expect, test } from 'vitest';
import { isPreflight } from '../../../../src/gateway/core/preflight.ts';

const HEADERS = { origin: 'https://app.example.com', 'access-control-request-method': 'POST' };

test('a preflight is OPTIONS with both headers', () => {
  expect(isPreflight({ method: 'OPTIONS', headers: HEADERS })).toBe(true);
});

test.each([
  ['another method', 'POST', HEADERS],
  ['a method that no browser sends', 'options', HEADERS],
  ['no origin', 'OPTIONS', { ...HEADERS, origin: undefined }],
  ['an empty origin', 'OPTIONS', { ...HEADERS, origin: '' }],
  ['two origins', 'OPTIONS', { ...HEADERS, origin: 'https://a.example, https://b.example' }],
  ['no requested method', 'OPTIONS', { origin: HEADERS.origin }],
  ['no headers', 'OPTIONS', undefined],
  ['inherited headers', 'OPTIONS', Object.create(HEADERS)],
])('%s makes it another request', (_, method, headers) => {
  expect(isPreflight({ method, headers })).toBe(false);
});
