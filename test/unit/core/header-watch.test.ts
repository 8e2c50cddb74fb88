import { describe, expect, test } from 'vitest';
import { DOUBT_AFTER, HeaderWatch } from '../../../src/core/header-watch.ts';
import type { PolicySet } from '../../../src/core/policy-set.ts';
import { CLOUDFLARE_RANGE, policySetFrom } from '../../support/policies.ts';
import { checkRequest } from '../../support/requests.ts';

const CLOUDFLARE = CLOUDFLARE_RANGE.replace('0/20', '9');

const fileWith = (identity: string, limits = '1000/1h') =>
  policySetFrom(`version: 1\nidentity: ${identity}\ndefault: { limits: [${limits}] }\n`);
const KEYS = '{ sources: [api_key, ip] }';

function setUp(first: PolicySet) {
  const told: string[] = [];
  const watch = new HeaderWatch({
    headerUnseen: ({ dialect, header, requests }) =>
      told.push(`${dialect} lacks ${header} after ${requests}`),
    headerSeen: (dialect, header) => told.push(`${dialect} has ${header}`),
  });
  let set = first;
  return {
    told,
    take(next: PolicySet) {
      set = next;
    },
    unseen: () => watch.unseen(set).map(({ dialect, header }) => `${dialect} ${header}`),
    ask(times: number, headers: Record<string, string> = {}, parts = {}, dialect = 'nginx') {
      const request = checkRequest({ headers, ...parts });
      for (let i = 0; i < times; i++) watch.see(dialect, request, set);
    },
  };
}

describe('a header that no request through a proxy has', () => {
  test('is told once, after a thousand requests', () => {
    const { told, unseen, ask } = setUp(fileWith(KEYS));
    ask(DOUBT_AFTER - 1);
    expect(told).toEqual([]);
    expect(unseen()).toEqual([]);
    ask(5 * DOUBT_AFTER);
    expect(told).toEqual(['nginx lacks x-api-key after 1000']);
    expect(unseen()).toEqual(['nginx x-api-key']);
  });

  test('is no doubt any more when one request has it, even if it was told before', () => {
    const { told, unseen, ask } = setUp(fileWith(KEYS));
    ask(DOUBT_AFTER);
    ask(2, { 'x-api-key': 'alice' });
    ask(5 * DOUBT_AFTER);
    expect(told).toEqual(['nginx lacks x-api-key after 1000', 'nginx has x-api-key']);
    expect(unseen()).toEqual([]);
  });

  test('is never told when the first of many requests had it', () => {
    const { told, ask } = setUp(fileWith(KEYS));
    ask(1, { 'x-api-key': 'alice' });
    ask(5 * DOUBT_AFTER);
    expect(told).toEqual([]);
  });

  test('is missing also when the proxy always sends it empty', () => {
    const { told, ask } = setUp(fileWith(KEYS));
    ask(DOUBT_AFTER, { 'x-api-key': '' });
    expect(told).toEqual(['nginx lacks x-api-key after 1000']);
  });

  test('is told for each proxy by itself', () => {
    const { told, unseen, ask } = setUp(fileWith(KEYS));
    ask(DOUBT_AFTER, { 'x-api-key': 'alice' }, {}, 'envoy');
    ask(DOUBT_AFTER);
    expect(told).toEqual(['nginx lacks x-api-key after 1000']);
    ask(1, { 'x-api-key': 'alice' }, {}, 'envoy');
    expect(unseen()).toEqual(['nginx x-api-key']);
  });

  test('is looked for anew with another policy file', () => {
    const { told, unseen, ask, take } = setUp(fileWith(KEYS));
    ask(DOUBT_AFTER);
    take(fileWith('{ sources: [api_key, ip], api_key: { header: authorization } }'));
    expect(unseen()).toEqual([]);
    ask(DOUBT_AFTER - 1, { 'x-api-key': 'alice' });
    expect(unseen()).toEqual([]);
    ask(1, { 'x-api-key': 'alice' });
    expect(told).toEqual([
      'nginx lacks x-api-key after 1000',
      'nginx lacks authorization after 1000',
    ]);
  });
});

test.each([
  ['the key', KEYS, '1000/1h', ['x-api-key']],
  ['the user', '{ sources: [user, ip], user: { header: x-login } }', '1000/1h', ['x-login']],
  ['nothing but addresses', '{ sources: [ip] }', '1000/1h', []],
  [
    'what a limit is per',
    '{ sources: [ip] }',
    '{ rate: 9/1h, per: "header:x-tenant" }',
    ['x-tenant'],
  ],
  [
    'an address header that the proxy answers for',
    '{ sources: [{ header: true-client-ip, from: proxy }, ip] }',
    '1000/1h',
    ['true-client-ip'],
  ],
])('%s: needs these headers', (_what, identity, limits, headers) => {
  const { unseen, ask } = setUp(fileWith(identity, limits));
  ask(DOUBT_AFTER);
  expect(unseen()).toEqual(headers.map((header) => `nginx ${header}`));
});

describe('the address header of a CDN', () => {
  const CDN = fileWith('{ sources: [cf_connecting_ip, ip] }');
  const from = (peer: string | undefined) => (peer === undefined ? {} : { peer });

  test('is missed of requests that come from its networks', () => {
    const { told, ask } = setUp(CDN);
    ask(DOUBT_AFTER, {}, from(CLOUDFLARE));
    expect(told).toEqual(['nginx lacks cf-connecting-ip after 1000']);
  });

  test.each(['198.51.100.7', undefined, 'junk'])('is not missed of one from %s', (peer) => {
    const { told, ask } = setUp(CDN);
    ask(20 * DOUBT_AFTER, {}, from(peer));
    expect(told).toEqual([]);
  });
});

test('what looks like a property of every object is no header', () => {
  const { unseen, ask } = setUp(fileWith('{ sources: [user, ip], user: { header: constructor } }'));
  ask(DOUBT_AFTER);
  expect(unseen()).toEqual(['nginx constructor']);
});
