/** Plans and users that a proxy vouches for. */
import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { policySetFrom } from '../../../../support/policies.ts';
import { AT_NOON, checkRequest } from '../../../../support/requests.ts';

const sha256 = (key: string) => hash('sha256', key, 'hex');
const LIMITS = `default:
  limits: [10/1h, { rate: 100/1h, per: header:x-team }]
  plans: { pro: [20/1h], gold: [30/1h] }`;
const IN_HEADERS = `
version: 1
identity:
  sources: [api_key, user, ip]
  plan: { header: x-plan }
  verified_headers: [x-plan, x-team]
  api_key:
    keys:
      - { id: acme, sha256: ${sha256('acme-key')}, plan: gold }
      - { id: globex, sha256: ${sha256('globex-key')} }
${LIMITS}`;
const IN_METADATA = `
version: 1
identity:
  sources: [user, ip]
  user: { metadata: envoy.filters.http.jwt_authn, claim: [payload, sub] }
  plan: { metadata: envoy.filters.http.jwt_authn, claim: [payload, plan] }
${LIMITS}`;

const UNTRUSTED = '203.0.113.1';
type Parts = Parameters<typeof checkRequest>[0];
const identify = (yaml: string, parts: Parts) =>
  policySetFrom(yaml).identify(checkRequest({ client: '198.51.100.7', ...parts }), AT_NOON);
const planOf = (headers: Record<string, string>, parts: Parts = {}) =>
  identify(IN_HEADERS, { headers: { 'x-plan': 'pro', ...headers }, ...parts }).plan;

/** What a filter of Envoy has found out, by the path. */
const found = (namespace: string, values: Readonly<Record<string, string>>) => ({
  text: (asked: string, path: readonly string[]) =>
    asked === namespace ? values[path.join('.')] : undefined,
});

describe('a plan that a header names', () => {
  test.each([
    ['a user', { 'x-user': 'alice' }, 'pro'],
    ['a listed key without a plan', { 'x-api-key': 'globex-key' }, 'pro'],
    ['the value of a verified header', { 'x-team': 'red' }, 'pro'],
    ['a listed key with a plan of its own, which comes first', { 'x-api-key': 'acme-key' }, 'gold'],
    ['an unlisted key', { 'x-api-key': 'invented' }, undefined],
    ['an address', {}, undefined],
  ])('counts for %s: %j', (_, headers, plan) => {
    expect(planOf(headers as Record<string, string>)).toBe(plan);
  });

  test('is not believed from a proxy that is not trusted', () => {
    const client = identify(IN_HEADERS, {
      headers: { 'x-plan': 'pro', 'x-user': 'alice', 'x-team': 'red' },
      proxy: UNTRUSTED,
    });
    expect(client.plan).toBeUndefined();
    expect(client.ignoredHeaders).toContain('x-plan');
    expect(new Set(client.ignoredHeaders).size).toBe(client.ignoredHeaders.length);
  });

  test.each(['pro, gold', 'pro,pro', ' pro', 'pro\u0000', '\u00a0pro'])(
    'refuses the request if it can be read in several ways: %j',
    (value) => {
      const headers = { 'x-plan': value, 'x-user': 'alice' };
      expect(identify(IN_HEADERS, { headers }).isAmbiguous).toBe(true);
      // A proxy that is not trusted may send anything: it is ignored.
      expect(identify(IN_HEADERS, { headers, proxy: UNTRUSTED }).isAmbiguous).toBe(false);
    },
  );

  test('may have any name; only those of the file change the limits', () => {
    const policies = policySetFrom(IN_HEADERS);
    expect(planOf({ 'x-plan': 'Pro', 'x-user': 'alice' })).toBe('Pro');
    expect(['pro', 'gold', 'Pro', 'constructor'].filter(policies.hasPlan)).toEqual(['pro', 'gold']);
  });
});

describe('metadata of a filter', () => {
  const JWT = 'envoy.filters.http.jwt_authn';
  const alice = found(JWT, { 'payload.sub': 'alice', 'payload.plan': 'pro' });

  test('names the user and the plan', () => {
    const client = identify(IN_METADATA, { metadata: alice });
    expect(client).toMatchObject({ kind: 'user', plan: 'pro' });
    const named = `version: 1\nidentity: { sources: [user, ip] }\n${LIMITS}`;
    expect(client.user).toBe(identify(named, { headers: { 'x-user': 'alice' } }).user);
  });

  test('is not believed from a proxy that is not trusted, and headers do not replace it', () => {
    const headers = { 'x-user': 'alice', 'x-plan': 'pro' };
    const expected = { kind: 'ip', user: undefined, plan: undefined };
    expect(identify(IN_METADATA, { metadata: alice, proxy: UNTRUSTED })).toMatchObject(expected);
    expect(identify(IN_METADATA, { headers })).toMatchObject(expected);
    expect(
      identify(IN_METADATA, { metadata: found('envoy.lua', { 'payload.sub': 'alice' }) }),
    ).toMatchObject(expected);
  });

  test('without a user gives no plan', () => {
    const metadata = found(JWT, { 'payload.plan': 'pro' });
    expect(identify(IN_METADATA, { metadata })).toMatchObject({ kind: 'ip', plan: undefined });
  });
});
