/** Who may use the ops API. */
import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, test } from 'vitest';
import {
  compileAdminAccess,
  compilePageAccess,
} from '../../../../../src/gateway/server/ops/ops-api.ts';

describe('with a token', () => {
  const access = compileAdminAccess('a-token+of/operators==');

  test.each([
    'Bearer a-token+of/operators==',
    'bearer a-token+of/operators==',
    'BEARER   a-token+of/operators==  ',
  ])('%j is granted, by any host and from any page', (authorization) => {
    const headers = { authorization, host: 'gateway.example', origin: 'http://evil.example' };
    expect(access(headers)).toBe('granted');
  });

  test.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'a-token+of/operators==',
    'Basic a-token+of/operators==',
    'xBearer a-token+of/operators==',
    'Bearer a-token+of/operators',
    'Bearer a-token+of/operators==x',
    'Bearer A-TOKEN+OF/OPERATORS==',
    'Bearer a-token+of/operators== a-token+of/operators==',
    'Bearer\ta-token+of/operators==',
  ])('%j is unauthorized, also on this machine', (authorization) => {
    const headers = authorization === undefined ? {} : { authorization };
    expect(access({ host: 'localhost', ...headers })).toBe('unauthorized');
  });
});

describe('without a token', () => {
  const access = compileAdminAccess(undefined);

  test.each<IncomingHttpHeaders>([
    { host: 'localhost' },
    { host: 'LocalHost:9464' },
    { host: '127.0.0.1:9464' },
    { host: '127.9.9.9' },
    { host: '[::1]' },
    { host: '[::1]:9464' },
    { host: 'localhost', 'sec-fetch-site': 'none' },
    { host: 'localhost', 'sec-fetch-site': 'same-origin' },
    { host: 'localhost:9464', origin: 'http://localhost:9464' },
    { host: 'LocalHost:9464', origin: 'http://localhost:9464' },
    { host: '[::1]:9464', origin: 'http://[::1]:9464', 'sec-fetch-site': 'same-origin' },
  ])('%j is granted', (headers) => expect(access(headers)).toBe('granted'));

  test.each<IncomingHttpHeaders>([
    {},
    { host: '' },
    { host: 'gateway.example' },
    { host: 'localhost.evil.example' },
    { host: '127.0.0.1.evil.example' },
    { host: 'localhost:x' },
    { host: '203.0.113.9' },
    { host: '0.0.0.0' },
    { host: 'localhost', origin: 'http://evil.example' },
    { host: 'localhost', origin: 'null' },
    { host: 'localhost', origin: '' },
    { host: '', origin: 'http://' },
    { host: 'localhost:9464', origin: 'http://localhost:3000' },
    { host: 'localhost:9464', origin: 'http://localhost' },
    { host: 'localhost:9464', origin: 'https://localhost:9464' },
    { host: 'localhost:9464', origin: 'http://127.0.0.1:9464' },
    { host: 'localhost:9464', origin: 'http://localhost:9464, http://evil.example' },
    { host: 'localhost:9464', origin: 'http://localhost:9464', 'sec-fetch-site': 'same-site' },
    // A name of an attacker that leads to this machine.
    { host: 'evil.example:9464', origin: 'http://evil.example:9464' },
    { host: 'evil.example', origin: 'http://evil.example', 'sec-fetch-site': 'same-origin' },
    { host: 'localhost', 'sec-fetch-site': 'same-site' },
    { host: 'localhost', 'sec-fetch-site': 'cross-site' },
    { host: 'gateway.example', authorization: 'Bearer anything' },
  ])('%j is forbidden', (headers) => expect(access(headers)).toBe('forbidden'));
});

test('the page is for everyone if there is a token, else for this machine', () => {
  for (const host of ['gateway.example', '203.0.113.9:9464', 'localhost', undefined]) {
    expect(compilePageAccess('a-token')({ host })).toBe(true);
  }
  const access = compilePageAccess(undefined);
  for (const host of ['localhost:9464', '127.0.0.1', '[::1]:9464']) {
    // A link on another page leads here; what is refused is reading and changing.
    expect(access({ host, 'sec-fetch-site': 'cross-site' })).toBe(true);
  }
  for (const host of ['evil.example', 'localhost.evil.example', '', undefined]) {
    expect(access({ host })).toBe(false);
  }
});
