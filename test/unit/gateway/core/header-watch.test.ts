import { describe, expect, test } from 'vitest';
import { DOUBT_AFTER, HeaderWatch } from '../../../../src/gateway/core/header-watch.ts';
import type { PolicySet } from '../../../../src/gateway/core/matching/policy-set.ts';
import { CLOUDFLARE_RANGE, policySetFrom } from '../../../support/policies.ts';
import { checkRequest } from '../../../support/requests.ts';

const CLOUDFLARE = CLOUDFLARE_RANGE.replace('0/20', '9');

const fileWith = (identity: string, limits = '1000/1h') =>
  policySetFrom(`version: 1\nidentity: ${identity}\ndefault: { limits: [${limits}] }\n`);
const KEYS = '{ sources: [api_key, ip] }';

function setUp(first: PolicySet) {
  const reported: string[] = [];
  const arrived: string[] = [];
  const watch = new HeaderWatch({
    headerUnseen: ({ dialect, header, requests }) =>
      reported.push(`${dialect} lacks ${header} after ${requests}`),
    headerArrived: (dialect, header) => arrived.push(`${dialect} ${header}`),
    headerSeen: (dialect, header) => reported.push(`${dialect} has ${header}`),
  });
  let set = first;
  return {
    reported,
    arrived,
    take(next: PolicySet) {
      set = next;
    },
    unseen: () => watch.unseen(set).map(({ dialect, header }) => `${dialect} ${header}`),
    send(times: number, headers: Record<string, string> = {}, parts = {}, dialect = 'nginx') {
      const request = checkRequest({ headers, ...parts });
      for (let i = 0; i < times; i++) watch.see(dialect, request, set);
    },
  };
}

test('the first request of a dialect with a header is an event, for each policy file', () => {
  const { arrived, send, take } = setUp(fileWith(KEYS));
  send(2, { 'x-api-key': '' });
  expect(arrived).toEqual([]);
  send(3, { 'x-api-key': 'alice' });
  send(1, { 'x-api-key': 'alice' }, {}, 'envoy');
  expect(arrived).toEqual(['nginx x-api-key', 'envoy x-api-key']);
  take(fileWith(KEYS));
  send(2, { 'x-api-key': 'alice' });
  expect(arrived).toHaveLength(3);
});

describe('a header that no request through a proxy has', () => {
  test('is reported once, after a thousand requests', () => {
    const { reported, unseen, send } = setUp(fileWith(KEYS));
    send(DOUBT_AFTER - 1);
    expect(reported).toEqual([]);
    expect(unseen()).toEqual([]);
    send(5 * DOUBT_AFTER);
    expect(reported).toEqual(['nginx lacks x-api-key after 1000']);
    expect(unseen()).toEqual(['nginx x-api-key']);
  });

  test('is reported as seen once a request has it', () => {
    const { reported, unseen, send } = setUp(fileWith(KEYS));
    send(DOUBT_AFTER);
    send(2, { 'x-api-key': 'alice' });
    send(5 * DOUBT_AFTER);
    expect(reported).toEqual(['nginx lacks x-api-key after 1000', 'nginx has x-api-key']);
    expect(unseen()).toEqual([]);
  });

  test('is not reported if the first of many requests had it', () => {
    const { reported, send } = setUp(fileWith(KEYS));
    send(1, { 'x-api-key': 'alice' });
    send(5 * DOUBT_AFTER);
    expect(reported).toEqual([]);
  });

  test('is reported if the proxy always sends it empty', () => {
    const { reported, send } = setUp(fileWith(KEYS));
    send(DOUBT_AFTER, { 'x-api-key': '' });
    expect(reported).toEqual(['nginx lacks x-api-key after 1000']);
  });

  test('is reported for each dialect separately', () => {
    const { reported, unseen, send } = setUp(fileWith(KEYS));
    send(DOUBT_AFTER, { 'x-api-key': 'alice' }, {}, 'envoy');
    send(DOUBT_AFTER);
    expect(reported).toEqual(['nginx lacks x-api-key after 1000']);
    send(1, { 'x-api-key': 'alice' }, {}, 'envoy');
    expect(unseen()).toEqual(['nginx x-api-key']);
  });

  test('is watched from the start after a reload', () => {
    const { reported, unseen, send, take } = setUp(fileWith(KEYS));
    send(DOUBT_AFTER);
    take(fileWith('{ sources: [api_key, ip], api_key: { header: authorization } }'));
    expect(unseen()).toEqual([]);
    send(DOUBT_AFTER - 1, { 'x-api-key': 'alice' });
    expect(unseen()).toEqual([]);
    send(1, { 'x-api-key': 'alice' });
    expect(reported).toEqual([
      'nginx lacks x-api-key after 1000',
      'nginx lacks authorization after 1000',
    ]);
  });
});

test.each([
  ['the key', KEYS, '1000/1h', ['x-api-key']],
  ['the user', '{ sources: [user, ip], user: { header: x-login } }', '1000/1h', ['x-login']],
  ['none for addresses', '{ sources: [ip] }', '1000/1h', []],
  [
    'the header that a limit is per',
    '{ sources: [ip] }',
    '{ rate: 9/1h, per: "header:x-tenant" }',
    ['x-tenant'],
  ],
  [
    'an address header that the proxy sets',
    '{ sources: [{ header: true-client-ip, from: proxy }, ip] }',
    '1000/1h',
    ['true-client-ip'],
  ],
])('these headers are needed: %s', (_what, identity, limits, headers) => {
  const { unseen, send } = setUp(fileWith(identity, limits));
  send(DOUBT_AFTER);
  expect(unseen()).toEqual(headers.map((header) => `nginx ${header}`));
});

describe('the address header of a CDN', () => {
  const CDN = fileWith('{ sources: [cf_connecting_ip, ip] }');
  const from = (peer: string | undefined) => (peer === undefined ? {} : { peer });

  test('is expected in requests from its networks', () => {
    const { reported, send } = setUp(CDN);
    send(DOUBT_AFTER, {}, from(CLOUDFLARE));
    expect(reported).toEqual(['nginx lacks cf-connecting-ip after 1000']);
  });

  test.each(['198.51.100.7', undefined, 'junk'])('is not expected in requests from %s', (peer) => {
    const { reported, send } = setUp(CDN);
    send(20 * DOUBT_AFTER, {}, from(peer));
    expect(reported).toEqual([]);
  });
});

test('a header may have the name of an object property', () => {
  const { unseen, send } = setUp(
    fileWith('{ sources: [user, ip], user: { header: constructor } }'),
  );
  send(DOUBT_AFTER);
  expect(unseen()).toEqual(['nginx constructor']);
});

describe('the headers of MCP calls', () => {
  const OF_NAMES = `version: 1
identity: { sources: [ip] }
default: { limits: [1000/1h] }
policies:
  - { name: bare, match: { path: /mcp, mcp: { method: none } }, limits: [9/1h] }
  - { name: tool, match: { path: /mcp, mcp: { method: tools/call, name: a } }, limits: [9/1h] }
`;
  const MCP = policySetFrom(OF_NAMES);
  const POST = { method: 'POST', target: '/mcp' };
  const CURRENT = { 'mcp-protocol-version': '2026-07-28' };

  test.each([
    ['another path', {}, { method: 'POST', target: '/oauth' }],
    ['GET', CURRENT, { method: 'GET', target: '/mcp' }],
  ])('are not expected with %s', (_, headers, parts) => {
    const { reported, send } = setUp(MCP);
    send(5 * DOUBT_AFTER, headers, parts);
    expect(reported).toEqual([]);
  });

  test('are not expected of clients of an older revision, except for the version', () => {
    const { reported, send } = setUp(MCP);
    send(5 * DOUBT_AFTER, { 'mcp-protocol-version': '2025-11-25' }, POST);
    expect(reported).toEqual([]);
    const older = setUp(MCP);
    older.send(5 * DOUBT_AFTER, {}, POST);
    expect(older.reported).toEqual(['nginx lacks mcp-protocol-version after 1000']);
  });

  test('are expected of clients of the current revision: the method', () => {
    const { reported, send } = setUp(MCP);
    send(DOUBT_AFTER - 1, CURRENT, POST);
    send(DOUBT_AFTER, {}, { method: 'POST', target: '/oauth' });
    expect(reported).toEqual([]);
    send(1, CURRENT, POST);
    expect(reported).toEqual(['nginx lacks mcp-method after 1000']);
    send(1, { ...CURRENT, 'mcp-method': 'tools/list' }, POST);
    expect(reported[1]).toBe('nginx has mcp-method');
  });

  test('are expected of calls that must have them: the name', () => {
    const { reported, send } = setUp(MCP);
    send(5 * DOUBT_AFTER, { ...CURRENT, 'mcp-method': 'tools/list' }, POST);
    expect(reported).toEqual([]);
    send(DOUBT_AFTER, { ...CURRENT, 'mcp-method': 'tools/call' }, POST);
    expect(reported).toEqual(['nginx lacks mcp-name after 1000']);
  });

  test('are only those that policies match by', () => {
    const { reported, send } = setUp(policySetFrom(OF_NAMES.replace(', name: a', '')));
    send(DOUBT_AFTER, { ...CURRENT, 'mcp-method': 'tools/call' }, POST);
    expect(reported).toEqual([]);
    const without = setUp(fileWith('{ sources: [ip] }'));
    without.send(DOUBT_AFTER, CURRENT, POST);
    expect(without.reported).toEqual([]);
  });
});
