/** Which denials a web page may read, behind each proxy. */
import { describe, expect, test } from 'vitest';
import type { AnswerStyle } from '../../../../../src/gateway/core/answer-style.ts';
import type { HeaderFields } from '../../../../../src/gateway/core/check-request.ts';
import {
  AMBIGUOUS_IDENTITY,
  BLOCKED,
  EXEMPT,
  MALFORMED_HOST,
  MALFORMED_MCP,
  MALFORMED_PATH,
  unmeasured,
} from '../../../../../src/gateway/core/counting/decision.ts';
import { envoyGrpc } from '../../../../../src/gateway/dialects/envoy-grpc.ts';
import { DIALECTS } from '../../../../../src/gateway/dialects/index.ts';
import { addCors } from '../../../../../src/gateway/dialects/shared/cors.ts';
import { loginPolicy } from '../../../../support/policies.ts';

const APP = 'https://app.example.com';
const LISTED = [APP, 'http://localhost:5173', 'http://[::1]:3000', 'capacitor://localhost', 'null'];

function styleFor(origins: readonly string[], more: Partial<AnswerStyle> = {}): AnswerStyle {
  const cors = { origins: new Set(origins), credentials: false };
  return { reset: 'epoch', retryAfterJitterSeconds: 0, body: 'json', cors, ...more };
}

function added(sent: HeaderFields, style = styleFor(LISTED), headers: string[] = []) {
  addCors(headers, style, sent);
  const pairs = headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1]]] : []));
  expect(new Set(pairs.map(([name]) => name)).size, 'each name once').toBe(pairs.length);
  return Object.fromEntries(pairs);
}

test.each(LISTED)('a page of %s, which is listed, may read it', (origin) => {
  expect(added({ origin })).toEqual({
    Vary: 'Origin',
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Expose-Headers': 'Vary',
  });
});

describe('no page may read it that sends', () => {
  test.each<[string, string | string[] | undefined]>([
    ['no origin', undefined],
    ['an empty one', ''],
    ['another one', 'https://other.example.com'],
    ['a longer host', 'https://app.example.com.evil.com'],
    ['a host before it', 'https://evil.com/https://app.example.com'],
    ['another beginning', 'https://evilapp.example.com'],
    ['another scheme', 'http://app.example.com'],
    ['the default port', 'https://app.example.com:443'],
    ['another port', 'https://app.example.com:8443'],
    ['a path', 'https://app.example.com/'],
    ['upper case', 'https://APP.example.com'],
    ['a final dot', 'https://app.example.com.'],
    ['a user', 'https://app.example.com@evil.com'],
    ['blanks', ' https://app.example.com'],
    ['a line break', `${APP}\r\nSet-Cookie: a=b`],
    ['other letters', 'https://аpp.example.com'],
    ['the sign for all', '*'],
    ['NULL', 'NULL'],
    ['two origins, joined', `${APP}, ${APP}`],
    ['two origins', [APP, APP]],
    ['the name of a property', '__proto__'],
  ])('%s', (_, origin) => {
    expect(added({ origin })).toEqual({ Vary: 'Origin' });
  });

  test('an origin that another object has', () => {
    expect(added(Object.create({ origin: APP }))).toEqual({ Vary: 'Origin' });
  });
});

test('with credentials, a listed page may read it also if it sent cookies', () => {
  const cors = { origins: new Set([APP]), credentials: true };
  expect(added({ origin: APP }, styleFor([], { cors }))).toMatchObject({
    'Access-Control-Allow-Origin': APP,
    'Access-Control-Allow-Credentials': 'true',
  });
  expect(added({ origin: 'https://evil.com' }, styleFor([], { cors }))).toEqual({ Vary: 'Origin' });
});

test.each([undefined, APP, 'https://evil.com'])('with *, every page may read it: %s', (origin) => {
  expect(added({ origin }, styleFor(['*']))).toEqual({
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': '',
  });
});

test('a Vary that is there gets the origin as well, and a value of that name does not', () => {
  const before = ['X-RateLimit-Policy', 'Vary', 'Vary', 'Accept'];
  expect(added({ origin: 'https://evil.com' }, styleFor([APP]), before)).toEqual({
    'X-RateLimit-Policy': 'Vary',
    Vary: 'Accept, Origin',
  });
});

test('without cors, nothing is added', () => {
  expect(added({ origin: APP }, styleFor([], { cors: undefined }))).toEqual({});
});

describe.each([...DIALECTS, envoyGrpc])('behind $name', ({ render }) => {
  const named = (decision: Parameters<typeof render>[0]) => {
    const { headers } = render(decision, styleFor([APP]), { origin: APP });
    return headers.filter((_, i) => i % 2 === 0);
  };

  test.each([
    MALFORMED_HOST,
    MALFORMED_MCP,
    MALFORMED_PATH,
    AMBIGUOUS_IDENTITY,
    BLOCKED,
    unmeasured('closed', loginPolicy('[5/5min]')),
  ])('a listed page may read a denial: $reason', (decision) => {
    expect(named(decision)).toEqual(
      expect.arrayContaining([
        ...['Vary', 'Access-Control-Allow-Origin', 'Access-Control-Expose-Headers'],
      ]),
    );
  });

  test('an allowed answer has none of it', () => {
    expect(named(EXEMPT).filter((name) => /^(vary|access)/i.test(name))).toEqual([]);
  });
});

test.each([DIALECTS.find(({ name }) => name === 'envoy') ?? envoyGrpc, envoyGrpc])(
  'a call of gRPC behind $name has its status beside it',
  ({ render }) => {
    const sent = { origin: APP, 'content-type': 'application/grpc' };
    const { headers } = render(
      unmeasured('closed', loginPolicy('[5/5min]')),
      styleFor([APP]),
      sent,
    );
    expect(headers[headers.indexOf('Grpc-Status') + 1]).toBe('8');
    expect(headers[headers.indexOf('Access-Control-Allow-Origin') + 1]).toBe(APP);
  },
);
