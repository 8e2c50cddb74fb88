/** The facts that a check hands to its trace. */
import { describe, expect, test } from 'vitest';
import { createCheck, UNOBSERVED } from '../../../../src/gateway/core/check.ts';
import { userPartition } from '../../../../src/gateway/core/identity/partition.ts';
import { NO_OVERRIDES, type Overrides } from '../../../../src/gateway/core/overrides.ts';
import type { TraceEvent } from '../../../../src/gateway/core/trace.ts';
import { MemoryStore } from '../../../../src/gateway/stores/memory/memory-store.ts';
import { policySetFrom } from '../../../support/policies.ts';
import { checkRequest, NOON_MS, SALTS } from '../../../support/requests.ts';

const FILE = `
version: 1
identity:
  sources: [user, api_key, { header: x-cdn-client, from: [192.0.2.0/24] }, { header: x-lb-client, from: proxy }, ip]
  trusted_proxies: [loopback, 10.0.0.0/8]
default: { limits: [9/1h] }
policies:
  - { name: login, match: { method: POST, path: /login, host: a.example.com }, limits: [9/1h] }
  - { name: any, match: { path: "/*" }, limits: [90/1h] }
  - { name: admin, always: true, match: { path: /admin }, limits: [{ rate: 9/1h, per: ip }] }`;

function setUp(overrides: Partial<Overrides> = {}, yaml = FILE) {
  const set = policySetFrom(yaml);
  return async (parts: Parameters<typeof checkRequest>[0]) => {
    const events: TraceEvent[] = [];
    const store = new MemoryStore({ now: () => NOON_MS, maxKeys: 100 });
    const check = createCheck({
      store,
      local: store,
      salts: { at: () => SALTS },
      overrides: { current: { ...NO_OVERRIDES, ...overrides } },
      newId: () => 'an-id',
      observer: { ...UNOBSERVED, step: (event) => events.push(event) },
    });
    await check(checkRequest(parts), set, NOON_MS);
    return (type: TraceEvent['type']) => events.filter((event) => event.type === type);
  };
}
const traced = setUp();
const HOP = { peer: '10.0.0.1', client: '10.0.0.1' };

describe('addresses', () => {
  test('a trusted proxy and what it reports', async () => {
    const of = await traced({ client: '203.0.113.9' });
    expect(of('proxy')).toEqual([
      { type: 'proxy', address: '127.0.0.1', trustedBy: 'loopback, 127.0.0.0/8' },
    ]);
    expect(of('reported-address')).toMatchObject([{ address: '203.0.113.9' }]);
    expect(of('client-address')).toMatchObject([{ address: '203.0.113.9', proxy: '127.0.0.1' }]);
  });
  test('a proxy that is not trusted: nothing else is read', async () => {
    const of = await traced({ proxy: '203.0.113.1', client: '203.0.113.9' });
    expect(of('proxy')).toMatchObject([{ trustedBy: undefined }]);
    expect(of('reported-address')).toEqual([]);
    expect(of('address-header')).toEqual([]);
    expect(of('client-address')).toMatchObject([{ address: undefined, proxy: '203.0.113.1' }]);
  });
  test('each entry of the forwarded list, up to the client', async () => {
    const of = await traced({ ...HOP, forwardedFor: '6.6.6.6, 203.0.113.9, 10.0.0.2' });
    expect(of('forwarded-entry')).toMatchObject([
      { entry: '10.0.0.2', address: '10.0.0.2', writtenBy: '10.0.0.1' },
      { entry: '203.0.113.9', address: '203.0.113.9', writtenBy: '10.0.0.2' },
    ]);
    expect(of('forwarded-list-ignored')).toEqual([]);
  });
  test('an entry that is not an address', async () => {
    const of = await traced({ ...HOP, forwardedFor: '6.6.6.6, junk' });
    expect(of('forwarded-entry')).toMatchObject([{ entry: 'junk', address: undefined }]);
  });
  test.each([
    ['no-reported-address', {}],
    ['loopback', { client: '127.0.0.1' }],
    ['untrusted', { client: '203.0.113.9' }],
  ])('a forwarded list that is ignored: %s', async (reason, parts) => {
    const of = await traced({ ...parts, forwardedFor: '6.6.6.6' });
    expect(of('forwarded-list-ignored')).toMatchObject([{ reason, header: 'x-forwarded-for' }]);
    expect(of('forwarded-entry')).toEqual([]);
  });
  test('no list is not an ignored list', async () => {
    const of = await traced({ client: '203.0.113.9' });
    expect(of('forwarded-list-ignored')).toEqual([]);
  });

  const headers = (values: Record<string, string>) => ({ headers: values });
  const cdn = { 'x-cdn-client': '203.0.113.9' };
  test.each([
    ['absent', {}, [{ status: 'absent' }, { status: 'absent' }]],
    [
      'set by the CDN that connected',
      { peer: '192.0.2.5', ...headers(cdn) },
      [{ status: 'set-by-network', address: '192.0.2.5', range: '192.0.2.0/24' }],
    ],
    [
      'set by the CDN before a load balancer',
      { ...HOP, forwardedFor: '192.0.2.5', ...headers(cdn) },
      [{ status: 'set-by-network', address: '192.0.2.5', range: '192.0.2.0/24' }],
    ],
    [
      'not allowed',
      { peer: '198.51.100.1', ...headers(cdn) },
      [{ status: 'not-allowed', peer: '198.51.100.1' }, { status: 'absent' }],
    ],
    [
      'not one address',
      { peer: '192.0.2.5', ...headers({ 'x-cdn-client': '1.1.1.1, 2.2.2.2' }) },
      [{ status: 'not-one-address' }, { status: 'absent' }],
    ],
    [
      'set by the proxy',
      headers({ 'x-lb-client': '203.0.113.9' }),
      [{ status: 'absent' }, { status: 'set-by-proxy' }],
    ],
  ])('an address header: %s', async (_, parts, results) => {
    const of = await traced(parts);
    expect(of('address-header').map((event) => 'result' in event && event.result)).toEqual(results);
  });
});

describe('identity', () => {
  test('the source that is used, those after it, and those that are absent', async () => {
    const of = await traced({ headers: { 'x-api-key': 'k', 'x-lb-client': '203.0.113.9' } });
    expect(of('identity-source')).toMatchObject([
      { source: 'user', result: 'absent', isUnverified: false },
      { source: 'api_key', result: 'used', isUnverified: true },
      { source: 'x_cdn_client', result: 'absent', isUnverified: false },
      { source: 'x_lb_client', result: 'outranked', isUnverified: false },
      { source: 'ip', result: 'outranked', isUnverified: false },
    ]);
  });
  test('a key that does not identify the client is not charged to the address', async () => {
    const of = await traced({ headers: { 'x-user': 'ann', 'x-api-key': 'k' } });
    expect(of('identity-source').slice(0, 2)).toMatchObject([
      { source: 'user', result: 'used', isUnverified: false },
      { source: 'api_key', result: 'outranked', isUnverified: false },
    ]);
  });
  test('a header that can be read in several ways', async () => {
    const of = await traced({ headers: { 'x-api-key': 'a,b' } });
    expect(of('ambiguous-header')).toEqual([{ type: 'ambiguous-header', header: 'x-api-key' }]);
    expect(of('path')).toEqual([]);
  });
  test('an override of access, and a list of the policy file', async () => {
    const access = new Map([[userPartition('ann', SALTS.kept), 'blocked' as const]]);
    const ofOverride = await setUp({ access })({ headers: { 'x-user': 'ann' } });
    expect(ofOverride('access')).toMatchObject([
      { access: { access: 'blocked', isOverride: true }, listed: [{}] },
    ]);
    const listing = FILE.replace('default:', 'exempt: [203.0.113.9]\ndefault:');
    const ofList = await setUp({ access }, listing)({ client: '203.0.113.9' });
    const entry = { address: '203.0.113.9', place: 'policies.yaml:6' };
    expect(ofList('access')).toMatchObject([
      { access: { access: 'exempt', isOverride: false, entry }, listed: [{ exempt: entry }] },
    ]);
    expect((await traced({}))('access')).toMatchObject([{ access: undefined, listed: [{}] }]);
  });
  test('the names by which an override can name the client', async () => {
    const of = await traced({
      client: '2001:db8::1',
      headers: { 'x-user': 'ann', 'x-api-key': 'k' },
    });
    const [event] = of('client-names');
    const names = event !== undefined && 'names' in event ? event.names : [];
    expect(names[1]).toBe(userPartition('ann', SALTS.kept));
    expect(names.map(([kind]) => kind).join('')).toMatch(/^kui+$/);
  });
});

describe('policies', () => {
  const login = { method: 'POST', target: '/login', host: 'a.example.com' };
  const results = async (parts: Parameters<typeof checkRequest>[0], overrides = {}) =>
    Object.fromEntries(
      (await setUp(overrides)(parts))('policy').map((event) =>
        'policy' in event && 'result' in event ? [event.policy, event.result] : [],
      ),
    );
  test('most specific, outranked, not matching, not needed', async () => {
    expect(await results(login)).toEqual({
      login: { status: 'most-specific' },
      any: { status: 'outranked', by: 'login' },
      admin: { status: 'no-match', requires: [{ part: 'path', value: '/admin' }] },
      default: { status: 'not-needed' },
    });
  });
  test('every part of a route that the request does not match', async () => {
    expect((await results({ target: '/x', host: 'b.example.com' })).login).toEqual({
      status: 'no-match',
      requires: [
        { part: 'path', value: '/login' },
        { part: 'host', value: 'a.example.com' },
        { part: 'method', value: 'POST' },
      ],
    });
  });
  test('all paths of a policy with a list, and nothing else if one of them matches', async () => {
    const listing = FILE.replace('path: /login', 'path: [/login, /sign-in]');
    const ofLogin = async (parts: Parameters<typeof checkRequest>[0]) => {
      const events = (await setUp({}, listing)(parts))('policy');
      return events.filter((event) => 'policy' in event && event.policy === 'login');
    };
    const requires = [{ part: 'path', value: '/login, /sign-in' }];
    expect(await ofLogin({ ...login, target: '/x' })).toMatchObject([
      { result: { status: 'no-match', requires } },
    ]);
    expect(await ofLogin({ ...login, target: '/sign-in' })).toMatchObject([
      { result: { status: 'most-specific' } },
    ]);
    expect(await ofLogin({ ...login, method: 'PUT', target: '/sign-in' })).toMatchObject([
      { result: { requires: [{ part: 'method', value: 'POST' }] } },
    ]);
  });
  test('always, by another reading', async () => {
    expect(await results({ ...login, target: '//login' })).toMatchObject({
      login: { status: 'most-specific' },
      any: { status: 'other-reading' },
    });
    expect(await results({ target: '/admin' })).toMatchObject({ admin: { status: 'always' } });
    expect(await results({ ...login, target: '/lo%zzgin' })).toMatchObject({
      any: { status: 'most-specific' },
      login: { status: 'other-reading' },
    });
  });
  test('named by the proxy', async () => {
    expect(await results({ target: '/x', policy: 'login' })).toMatchObject({
      login: { status: 'named-by-proxy' },
      any: { status: 'outranked', by: 'login' },
    });
    expect((await results({ target: '/x', policy: 'default' })).default).toEqual({
      status: 'named-by-proxy',
    });
  });
  test('the default, if nothing matches', async () => {
    const lone =
      'version: 1\ndefault: { limits: [1/1d] }\npolicies: [{ name: a, match: { path: /a/:b }, limits: [9/1h] }]';
    const of = async (target: string) =>
      (await setUp({}, lone)({ target }))('policy').map(
        (event) => 'result' in event && event.result,
      );
    expect((await of('/x'))[1]).toEqual({ status: 'nothing-matches' });
    expect((await of('/a/%zz'))[1]).toEqual({ status: 'not-needed' });
  });
  test('the mode, and whether an override set it', async () => {
    const modes = new Map([['any', 'shadow' as const]]);
    const of = await setUp({ modes })({ target: '/x' });
    expect(of('policy').slice(0, 2)).toMatchObject([
      { policy: 'login', mode: 'enforce', isModeOverridden: false },
      { policy: 'any', mode: 'shadow', isModeOverridden: true },
    ]);
  });
  test('a request without its path', async () => {
    const of = await traced({ missing: ['x-original-uri'] });
    expect(of('path-unknown')).toEqual([{ type: 'path-unknown', policy: 'login' }]);
    expect(of('path')).toEqual([]);
    expect(of('policy')).toEqual([]);
  });
  test('the readings of a path', async () => {
    const of = await traced({ target: '/A/./%zz' });
    expect(of('path')).toEqual([
      {
        ...{ type: 'path', target: '/A/./%zz', path: '/a/%zz' },
        ...{ otherReadings: ['/a/./%zz'], around: ['/a/\ufffd'], malformed: false },
      },
    ]);
  });
});

describe('limits', () => {
  test('counted limits, and what remains of them', async () => {
    const of = await traced({ target: '/x' });
    expect(of('limit')).toMatchObject([
      {
        label: 'any',
        description: '90 requests per hour',
        per: 'client',
        key: expect.stringMatching(/^hg:v1:\{i\.[\w-]{22}\}:any:client\.3600000$/),
      },
    ]);
    expect(of('quota')).toMatchObject([
      { label: 'any', cost: 1, isAdmitted: true, state: { limit: 90, remaining: 89 } },
    ]);
  });
  test('a store that answers with a promise is traced too', async () => {
    const events: TraceEvent[] = [];
    const state = { limit: 9, remaining: 0, resetAfterMs: 9, retryAfterMs: 9 };
    const check = createCheck({
      store: {
        take: async () => ({ admitted: false, states: [state, undefined], nowMs: NOON_MS }),
      },
      local: new MemoryStore({ now: () => NOON_MS, maxKeys: 100 }),
      salts: { at: () => SALTS },
      overrides: { current: NO_OVERRIDES },
      newId: () => 'an-id',
      observer: { ...UNOBSERVED, step: (event) => events.push(event) },
    });
    await check(checkRequest({ target: '/admin' }), policySetFrom(FILE), NOON_MS);
    expect(events.filter(({ type }) => type === 'quota')).toEqual([
      { type: 'quota', label: 'any', cost: 1, isAdmitted: false, state },
      { type: 'quota', label: 'admin', cost: 1, isAdmitted: false, state: undefined },
    ]);
  });
});

describe('an MCP call', () => {
  const MCP = `
version: 1
identity: { sources: [ip], trusted_proxies: [loopback] }
default: { limits: [9/1h] }
policies:
  - { name: search, match: { path: /mcp, mcp: { method: tools/call, name: [search, search_*] } }, limits: [9/1h] }
  - { name: tool, match: { path: /mcp, mcp: { method: tools/call } }, limits: [9/1h] }
  - { name: lists, match: { path: /mcp, mcp: { method: tools/list } }, limits: [9/1h] }
  - { name: rest, match: { path: /mcp, mcp: { method: none, none: strict } }, limits: [9/1h] }
  - { name: posts, match: { path: /mcp, method: POST }, limits: [9/1h] }
`;
  const VOUCHED = MCP.replace('[loopback]', '[loopback], verified_headers: [mcp-method, mcp-name]');
  const CURRENT = { 'mcp-protocol-version': '2026-07-28' };
  const CALL = { ...CURRENT, 'mcp-method': 'tools/call' };
  const called = async (headers: Record<string, string>, yaml = MCP, parts = {}) => {
    const of = await setUp({}, yaml)({ method: 'POST', target: '/mcp', headers, ...parts });
    const [event] = of('mcp-call');
    const results = of('policy').map((each) =>
      'policy' in each && 'result' in each ? [each.policy, each.result] : [],
    );
    return {
      call: event !== undefined && 'what' in event ? event.what : undefined,
      results: Object.fromEntries(results),
    };
  };
  const call = async (...given: Parameters<typeof called>) => (await called(...given)).call;

  test('has the method and the name that its headers say, decoded', async () => {
    expect(await call({ ...CALL, 'mcp-name': '=?base64?c2VhcmNoX2E=?=' })).toBe(
      'tools/call "search_a"',
    );
    expect(await call({ ...CURRENT, 'mcp-method': 'tools/list', 'mcp-name': 'a, b' })).toBe(
      'tools/list',
    );
  });

  const OLD = { ...CALL, 'mcp-name': 'search', 'mcp-protocol-version': '2025-11-25' };
  test.each([
    ['no method', CURRENT, 'mcp-method was not sent'],
    ['an empty method', { ...CURRENT, 'mcp-method': '' }, 'mcp-method was not sent'],
    ['no name', CALL, 'tools/call needs mcp-name'],
    ['no version', { 'mcp-method': 'tools/call' }, 'mcp-protocol-version was not sent, so no'],
    ['an older version', OLD, 'mcp-protocol-version is 2025-11-25, so no server compares'],
  ])('counts as one without headers: %s', async (_, headers, why) => {
    expect(await call(headers)).toContain(`it counts as a call without headers (none): ${why}`);
  });

  test('is believed if a trusted proxy vouches for it, whatever the version', async () => {
    expect(await call(OLD, VOUCHED)).toBe('tools/call "search"');
    const { call: ofStranger } = await called(OLD, VOUCHED, { proxy: '203.0.113.1' });
    expect(ofStranger).toContain('2025-11-25');
  });

  test.each([
    [{ ...CALL, 'mcp-method': 'a, b' }, 'mcp-method has several values, or a comma'],
    [{ ...CALL, 'mcp-name': 'a,b' }, 'mcp-name has several values, or a comma'],
    [{ ...CALL, 'mcp-name': 'x'.repeat(5_000) }, 'mcp-name has more than 4096 characters'],
    [{ ...CALL, 'mcp-name': ' a' }, 'mcp-name has a blank at an end'],
    [{ ...CALL, 'mcp-name': 'zoë' }, 'mcp-name has a character that is not printable ASCII'],
    [{ ...CALL, 'mcp-name': '=?base64?YR==?=' }, 'mcp-name is not in exact base64 of UTF-8'],
    [{ ...CALL, 'mcp-name': '=?base64?YQ?=' }, 'mcp-name is not in exact base64 of UTF-8'],
  ])('is malformed: %j', async (headers, malformed) => {
    expect(await called(headers)).toEqual({
      call: `${malformed}: the request is denied`,
      results: {},
    });
  });

  test('why each policy applies to it or does not', async () => {
    expect((await called({ ...CALL, 'mcp-name': 'search_a' })).results).toEqual({
      search: { status: 'most-specific' },
      tool: { status: 'outranked', by: 'search' },
      lists: { status: 'no-match', requires: [{ part: 'MCP call', value: 'tools/list' }] },
      rest: { status: 'no-match', requires: [{ part: 'MCP call', value: 'none' }] },
      posts: { status: 'outranked', by: 'search' },
      default: { status: 'not-needed' },
    });
    expect((await called({ ...CALL, 'mcp-name': 'other' })).results).toMatchObject({
      search: { requires: [{ part: 'MCP call', value: 'tools/call search, tools/call search_*' }] },
      tool: { status: 'most-specific' },
    });
  });

  test('that no policy for calls names follows the others of its path', async () => {
    const { call: read, results } = await called({ ...CURRENT, 'mcp-method': 'ping' });
    expect(read).toBe('ping');
    expect(results).toMatchObject({ posts: { status: 'most-specific' }, tool: { requires: [{}] } });
  });

  test('without headers counts for policies of tools, if the policy for it is strict', async () => {
    expect((await called({})).results).toMatchObject({
      search: { status: 'strict' },
      tool: { status: 'strict' },
      lists: { status: 'no-match' },
      rest: { status: 'most-specific' },
    });
  });

  test('is none with another method or path', async () => {
    const get = await called(CALL, MCP, { method: 'GET' });
    expect(get.call).toBeUndefined();
    expect(get.results.lists).toEqual({
      status: 'no-match',
      requires: [
        { part: 'method', value: 'POST' },
        { part: 'MCP call', value: 'tools/list' },
      ],
    });
    expect(await call(CALL, MCP, { target: '/other' })).toBeUndefined();
  });
});

test('a preflight: the default applies, whatever matches', async () => {
  const headers = { origin: 'https://a.example', 'access-control-request-method': 'POST' };
  const of = await traced({ method: 'OPTIONS', target: '/login', headers });
  expect(of('policy')).toMatchObject([
    { policy: 'login', result: { status: 'no-match' } },
    { policy: 'any', result: { status: 'outranked', by: 'default' } },
    { policy: 'admin', result: { status: 'no-match' } },
    { policy: 'default', result: { status: 'preflight' } },
  ]);
});
