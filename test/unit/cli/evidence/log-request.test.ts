import { createSecretKey } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { LogEntry } from '../../../../src/cli/evidence/formats/log-format.ts';
import { createLogRequests, readMapping } from '../../../../src/cli/evidence/log-request.ts';
import { NO_OVERRIDES } from '../../../../src/gateway/core/overrides.ts';
import { logEntry } from '../../../support/log-entries.ts';
import { policySetFrom } from '../../../support/policies.ts';

const period = { startMs: 0, current: createSecretKey(Buffer.alloc(32)), previous: undefined };
const CONTEXT = {
  nowMs: 0,
  salts: { kept: period.current, daily: period, long: undefined },
  overrides: NO_OVERRIDES,
  trace: undefined,
};

function requestsBy(identity: string, mapping: readonly string[] = []) {
  const policies = policySetFrom(`
version: 1
identity: ${identity}
default: { limits: [1000/1h] }`);
  const requestOf = createLogRequests(policies, mapping.map(readMapping));
  return {
    requestOf: (entry: Partial<LogEntry>) => requestOf(logEntry(entry)),
    identify: (entry: Partial<LogEntry>) => {
      const request = requestOf(logEntry(entry));
      return request && policies.identify(request, CONTEXT);
    },
  };
}

describe('a client is identified as a gateway would', () => {
  test.each(['{}', '{ trusted_proxies: [10.0.0.0/8] }', '{ trusted_proxies: ["fd00::/8"] }'])(
    'by its address, with identity %s',
    (identity) => {
      const { identify } = requestsBy(identity);
      const client = identify({});
      expect(client).toMatchObject({ kind: 'ip', untrustedProxy: false });
      expect(identify({ address: '203.0.113.10' })?.partition).not.toBe(client?.partition);
    },
  );

  test('as one client for all, if the file trusts no proxy', () => {
    const { identify } = requestsBy('{ trusted_proxies: [] }');
    expect(identify({})?.partition).toBe(identify({ address: '203.0.113.10' })?.partition);
  });

  test('by the forwarded address behind a load balancer that is trusted', () => {
    const { identify } = requestsBy('{ trusted_proxies: [loopback, 10.0.0.0/8] }');
    const behind = identify({ address: '10.0.0.1', forwardedFor: '192.0.2.1, 203.0.113.9' });
    expect(behind?.partition).toBe(identify({})?.partition);
  });

  test('by the last forwarded address, if the log has no other', () => {
    const { identify } = requestsBy('{}');
    const envoy = identify({ address: undefined, forwardedFor: '192.0.2.1, 203.0.113.9' });
    expect(envoy?.partition).toBe(identify({})?.partition);
  });

  test('by a mapped key, also in the header Authorization', () => {
    const byHeader = requestsBy('{}', ['api_key=key']).identify({ fields: ['alice'] });
    const byToken = requestsBy('{ api_key: { header: authorization } }', ['api_key=key']);
    expect(byHeader?.kind).toBe('api_key');
    expect(byToken.identify({ fields: ['alice'] })?.partition).toBe(byHeader?.partition);
    expect(byToken.identify({ fields: ['Bearer alice'] })?.partition).toBe(byHeader?.partition);
    expect(byToken.identify({ fields: [undefined] })?.kind).toBe('ip');
  });

  test('by a mapped user', () => {
    const { identify } = requestsBy('{ sources: [user, ip] }', ['user=name']);
    expect(identify({ fields: ['alice'] })?.kind).toBe('user');
  });

  const JWT = 'metadata: envoy.filters.http.jwt_authn, claim: [payload';
  const byClaims = `{ sources: [user, ip], user: { ${JWT}, sub] }, plan: { ${JWT}, plan] } }`;

  test('by a mapped user and plan that the policy file takes from metadata', () => {
    const { identify, requestOf } = requestsBy(byClaims, ['plan=plan', 'user=name']);
    const alice = identify({ fields: ['pro', 'alice'] });
    expect(alice).toMatchObject({ kind: 'user', plan: 'pro' });
    expect(identify({ fields: [undefined, 'bob'] })?.plan).toBeUndefined();
    expect(identify({ fields: ['free', 'alice'] })).toMatchObject({
      partition: alice?.partition,
      plan: 'free',
    });
    // A plan counts for a user, never for an address.
    expect(identify({ fields: ['pro', undefined] })).toMatchObject({ kind: 'ip', plan: undefined });
    expect(requestOf({ address: '-', fields: [undefined, 'alice'] })).toBeDefined();
    expect(requestOf({ address: '-', fields: [undefined, ''] })).toBeUndefined();
    expect(requestOf({ fields: ['pro', 'alice'] })?.headers).toEqual({});
  });

  test('by a mapped plan in the header that the policy file names', () => {
    const identity =
      '{ sources: [user, ip], plan: { header: x-plan }, verified_headers: [x-plan] }';
    const { identify } = requestsBy(identity, ['user=name', 'plan=plan']);
    expect(identify({ fields: ['alice', 'pro'] })).toMatchObject({ kind: 'user', plan: 'pro' });
  });

  test('without a mapped plan that the policy file does not read', () => {
    const { identify } = requestsBy('{ sources: [user, ip] }', ['user=name', 'plan=plan']);
    const alice = identify({ fields: ['alice', 'pro'] });
    expect(alice).toMatchObject({ kind: 'user', plan: undefined });
  });

  test('by a mapped header of a network that connected to the proxy', () => {
    const { identify } = requestsBy('{}', ['header:CF-Connecting-IP=cf']);
    const fields = ['198.51.100.7'];
    expect(identify({ address: '173.245.48.1', fields })?.kind).toBe('cf_connecting_ip');
    expect(identify({ fields })?.kind).toBe('ip');
  });

  test('by a mapped Forwarded field', () => {
    const { identify } = requestsBy(
      '{ forwarded_header: forwarded, trusted_proxies: [loopback, 10.0.0.0/8] }',
      ['header:forwarded=fwd'],
    );
    const behind = identify({ address: '10.0.0.1', fields: ['for=203.0.113.9'] });
    expect(behind?.partition).toBe(identify({ fields: [undefined] })?.partition);
  });
});

test.each([{ address: undefined }, { address: 'unix:' }, { address: '-' }])(
  'an entry without a client has no request: %o',
  (entry) => {
    expect(requestsBy('{}').requestOf(entry)).toBeUndefined();
  },
);

test('a request has the method, host and target of the entry', () => {
  const entry = { method: 'POST', host: 'api.example.com', target: '/a?b=1' };
  expect(requestsBy('{}').requestOf(entry)).toMatchObject(entry);
});

test.each(['key=x', 'api_key', 'header:=x', 'header:a b=x', 'user='])(
  'a mapping that is none is refused: %s',
  (text) => {
    expect(() => readMapping(text)).toThrow(RangeError);
  },
);

test.each(['"203.0.113.1', 'a b', 'shop.example:1:2', '203.0.113.1, 10.0.0.5'])(
  'the host %j, which the proxy answered, is left out',
  (host) => {
    const { requestOf } = requestsBy('{}');
    expect(requestOf({ host })?.host).toBe('');
    expect(requestOf({ host: 'shop.example' })?.host).toBe('shop.example');
  },
);

test('a preflight of the log counts as one if the two headers are mapped', () => {
  const policies = policySetFrom(`
version: 1
default: { limits: [1000/1h] }
policies: [{ name: login, match: { path: /login }, limits: [1/1h] }]`);
  const policiesOf = (mapping: readonly string[], fields: readonly string[]) => {
    const requestOf = createLogRequests(policies, mapping.map(readMapping));
    const request = requestOf(logEntry({ method: 'OPTIONS', target: '/login', fields }));
    return request && policies.policiesFor(request).map(({ name }) => name);
  };
  const both = ['header:origin=a', 'header:access-control-request-method=b'];
  expect(policiesOf(both, ['https://app.example.com', 'POST'])).toEqual(['default']);
  expect(policiesOf(both, ['https://app.example.com', ''])).toEqual(['login']);
  expect(policiesOf([], [])).toEqual(['login']);
});
