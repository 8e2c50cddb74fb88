import { describe, expect, test } from 'vitest';
import type { CheckRequest } from '../../../../src/gateway/core/check-request.ts';
import { caddy } from '../../../../src/gateway/dialects/caddy.ts';
import { HTTP_DIALECTS } from '../../../../src/gateway/dialects/index.ts';
import { ingressNginx } from '../../../../src/gateway/dialects/ingress-nginx.ts';
import { HTTP_FIXTURES } from '../../../fixtures/proxies/index.ts';
import { type ProxyFixture, parseFixture } from '../../../support/proxy-fixture.ts';

const fixtureOf = (name: string) => HTTP_FIXTURES[name] as ProxyFixture;
const withoutHeaders = ({ headers: _, ...check }: CheckRequest) => check;

// Caddy appends the client's query to the gateway's path unless its file prevents it.
test.each(HTTP_DIALECTS.filter(({ name }) => name !== 'envoy'))(
  '$name reads nothing from the path and query of the check itself',
  (dialect) => {
    const fixture = fixtureOf(dialect.name);
    const plain = parseFixture(dialect, fixture);
    const other = parseFixture(dialect, fixture, { target: '/free?method=GET&uri=/free' });
    expect(withoutHeaders(other)).toEqual(withoutHeaders(plain));
  },
);

test('envoy takes an empty target for the root', () => {
  const [envoy] = HTTP_DIALECTS.filter(({ name }) => name === 'envoy');
  const call = { method: 'CONNECT', target: '', headers: {}, remoteAddress: '127.0.0.1' };
  expect(envoy?.parse(call)).toMatchObject({ method: 'CONNECT', target: '/', host: '' });
});

describe('caddy, after a rewrite', () => {
  const parse = (...values: string[]) => {
    const add = values.map((value) => ['X-Headgate-Original-Uri', value] as const);
    return parseFixture(caddy, fixtureOf('caddy'), { add });
  };

  test('names the target of the client as well', () => {
    expect(parse()).toMatchObject({ sentTarget: undefined, missing: [] });
    expect(parse('/a?b')).toMatchObject({ sentTarget: '/a?b', missing: [] });
  });

  test('an unusable one could be any request', () => {
    for (const values of [[''], ['/a', '/b']])
      expect(parse(...values).missing).toEqual(['x-headgate-original-uri']);
  });
});

describe('ingress-nginx', () => {
  const parse = (url: string) => {
    const fixture = fixtureOf('ingress-nginx');
    const sends = fixture.sends.replace(/X-Original-URL: .*/, `X-Original-URL: ${url}`);
    return parseFixture(ingressNginx, { ...fixture, sends });
  };

  test.each([
    ['https://a.example/', 'a.example', '/'],
    ['http://a.example//b?c=d', 'a.example', '//b?c=d'],
    ['http://a?b/c', 'a?b', '/c'],
    ['http:///a', '', '/a'],
  ])('splits %s into host and target', (url, host, target) => {
    expect(parse(url)).toMatchObject({ host, target, missing: [] });
  });

  test.each(['http://a.example', 'a.example/b', '/b'])('cannot split %s', (url) => {
    expect(parse(url)).toMatchObject({ target: '/', missing: ['x-original-url'] });
  });
});
