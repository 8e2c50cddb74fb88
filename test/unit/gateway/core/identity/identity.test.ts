import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  compileAccessLists,
  type ListEntry,
} from '../../../../../src/gateway/core/identity/access-lists.ts';
import { compileAddressSet } from '../../../../../src/gateway/core/identity/address.ts';
import type { AddressHeader } from '../../../../../src/gateway/core/identity/client-address.ts';
import {
  compileIdentity,
  type IdentityConfig,
} from '../../../../../src/gateway/core/identity/identity.ts';
import { AT_NOON, checkRequest, NOON_MS } from '../../../../support/requests.ts';

const CLOUDFLARE = '173.245.48.5';
const CF_CONNECTING_IP: AddressHeader = {
  header: 'cf-connecting-ip',
  kind: 'cf_connecting_ip',
  setBy: compileAddressSet(['173.245.48.0/20']),
};
const listedKey = (key: string, id = 'alice', plan?: string) => ({
  id,
  sha256: hash('sha256', key, 'hex'),
  plan,
});

function resolver(config: Partial<IdentityConfig> = {}) {
  const { identify } = compileIdentity({
    sources: ['api_key', CF_CONNECTING_IP, 'ip'],
    apiKeyHeader: 'x-api-key',
    apiKeys: [listedKey('listed')],
    keysInStore: false,
    user: { header: 'x-user' },
    plan: undefined,
    trustedProxies: compileAddressSet(['loopback', '10.0.0.0/8']),
    forwardedHeader: 'x-forwarded-for',
    ipv6Prefixes: [64],
    accessLists: compileAccessLists([], [], {}),
    headers: [],
    verifiedHeaders: [],
    ...config,
  });
  return (parts: Parameters<typeof checkRequest>[0]) => identify(checkRequest(parts), AT_NOON);
}

/** The partition of the address that a request is counted by. */
const addressOf = (parts: Parameters<typeof checkRequest>[0]) =>
  resolver()(parts).address.daily.current;
const partitionOf = (address: string) => addressOf({ client: address });

describe('sources are tried in order', () => {
  test('an API key comes before the address', () => {
    const client = resolver()({ headers: { 'x-api-key': 'listed' }, client: '203.0.113.9' });
    expect(client).toMatchObject({ kind: 'api_key', apiKey: { unverified: false } });
    expect(client.apiKey?.partition).toMatch(/^c\./);
  });
  test('the address comes first if the policy file says so', () => {
    const client = resolver({ sources: ['ip', 'api_key'] })({ headers: { 'x-api-key': 'listed' } });
    expect(client.kind).toBe('ip');
    expect(client.apiKey).toBeDefined();
  });
  test('a source that is not listed is not read', () => {
    const client = resolver({ sources: ['ip'] })({ headers: { 'x-api-key': 'listed' } });
    expect(client).toMatchObject({ kind: 'ip', apiKey: undefined });
  });
  test('a request with none of the sources is identified by its address', () => {
    expect(resolver({ sources: ['api_key'] })({})).toMatchObject({ kind: 'ip' });
  });
});

describe('API keys', () => {
  test('a key beyond ASCII is found by the digest of its bytes', () => {
    const key = 'cl\u00e9';
    const asHeader = Buffer.from(key, 'utf8').toString('latin1');
    const client = resolver({ apiKeys: [listedKey(key)] })({ headers: { 'x-api-key': asHeader } });
    expect(client.apiKey?.unverified).toBe(false);
  });
  test('a key that is not listed is unverified', () => {
    expect(resolver()({ headers: { 'x-api-key': 'invented' } })).toMatchObject({
      kind: 'api_key',
      apiKey: { unverified: true },
    });
  });
  test('two keys with one id share a partition', () => {
    const apiKeys = ['old', 'new'].map((key) => listedKey(key));
    const identify = resolver({ apiKeys });
    const partitions = ['old', 'new'].map(
      (key) => identify({ headers: { 'x-api-key': key } }).apiKey?.partition,
    );
    expect(partitions[0]).toBe(partitions[1]);
  });
  test.each(['a,b', 'listed, listed', '', 'x'.repeat(8_193)])('"%s" is not a key', (key) => {
    expect(resolver()({ headers: { 'x-api-key': key } }).kind).toBe('ip');
  });
  test.each(['!listed', 'listed!', '!!listed!!!'])(
    '%s counts as the listed key, because Envoy writes ! in place of a byte that applications trim',
    (key) => {
      expect(resolver()({ headers: { 'x-api-key': key } }).apiKey?.unverified).toBe(false);
    },
  );
  test('a listed key with an exclamation mark is another key', () => {
    const identify = resolver({ apiKeys: [listedKey('listed', 'a'), listedKey('listed!', 'b')] });
    const [plain, marked] = ['listed', 'listed!'].map(
      (key) => identify({ headers: { 'x-api-key': key } }).apiKey?.partition,
    );
    expect(plain).not.toBe(marked);
  });
  test.each(['!', '!!', 'lis!ted', `${'!'.repeat(8_000)}x`])('%s is not listed', (key) => {
    expect(resolver()({ headers: { 'x-api-key': key } }).apiKey?.unverified).toBe(true);
  });
  test('a key may have 8,192 characters', () => {
    expect(resolver()({ headers: { 'x-api-key': 'x'.repeat(8_192) } }).kind).toBe('api_key');
  });
  test('a key header may have the name of an object property', () => {
    expect(resolver({ apiKeyHeader: 'constructor' })({}).kind).toBe('ip');
  });
  test('an identity contains neither key nor address', () => {
    const client = resolver()({ headers: { 'x-api-key': 'hunter2' }, client: '203.0.113.9' });
    expect(JSON.stringify(client)).not.toMatch(/hunter2|203\.0\.113/);
  });
});

describe('users', () => {
  const identify = resolver({ sources: ['user', 'ip'] });
  test('are accepted from a trusted proxy', () => {
    expect(identify({ headers: { 'x-user': 'ann' } }).kind).toBe('user');
  });
  test('are ignored from any other proxy', () => {
    const client = identify({ headers: { 'x-user': 'ann' }, proxy: '203.0.113.1' });
    expect(client).toMatchObject({ kind: 'ip', user: undefined, untrustedProxy: true });
  });
});

describe('addresses', () => {
  test('a trusted proxy reports its client', () => {
    expect(addressOf({ client: '203.0.113.9', peer: '10.0.0.1' })).toBe(partitionOf('203.0.113.9'));
  });
  test('without a client address, the peer is the client', () => {
    expect(addressOf({ peer: '203.0.113.9' })).toBe(partitionOf('203.0.113.9'));
  });
  test('addresses from a proxy that is not trusted are ignored', () => {
    expect(addressOf({ proxy: '203.0.113.1', client: '203.0.113.9' })).toBe(
      partitionOf('203.0.113.1'),
    );
  });
  test.each(['junk', '127.1', '', '1.2.3.4, 5.6.7.8'])(
    'if the client address is invalid ("%s"), the peer is the client',
    (client) => {
      expect(addressOf({ client, peer: '203.0.113.9' })).toBe(partitionOf('203.0.113.9'));
    },
  );
  test('if no address is valid, the proxy is the client', () => {
    expect(addressOf({ client: 'x', peer: 'y' })).toBe(partitionOf('127.0.0.1'));
  });
  test('a mapped IPv4 address counts as its IPv4 address', () => {
    expect(partitionOf('::ffff:203.0.113.9')).toBe(partitionOf('203.0.113.9'));
    expect(partitionOf('::ffff:203.0.113.9')).not.toBe(partitionOf('::ffff:203.0.113.8'));
  });
  test('addresses of one IPv6 network count as one client', () => {
    expect(partitionOf('2001:db8:1:2::1')).toBe(partitionOf('2001:db8:1:2:ffff::9'));
    expect(partitionOf('2001:db8:1:2::1')).not.toBe(partitionOf('2001:db8:1:3::1'));
  });
  test('an address has different pseudonyms in each period', () => {
    const { daily, long } = resolver()({ client: '203.0.113.9' }).address;
    const all = [daily.current, daily.previous, long?.current, long?.previous];
    expect(new Set(all).size).toBe(4);
    expect(all.every((each) => each !== undefined)).toBe(true);
  });
});

describe('X-Forwarded-For', () => {
  const hop = { client: '10.0.0.1', peer: '10.0.0.1' };
  test('is read from the right, over trusted proxies', () => {
    expect(addressOf({ ...hop, forwardedFor: '6.6.6.6, 203.0.113.9, 10.0.0.2' })).toBe(
      partitionOf('203.0.113.9'),
    );
  });
  test.each(['203.0.113.9:4711', ' 203.0.113.9 ', '::ffff:203.0.113.9', '[::ffff:cb00:7109]:80'])(
    'may have entries such as "%s"',
    (entry) => {
      expect(addressOf({ ...hop, forwardedFor: `6.6.6.6,${entry}` })).toBe(
        partitionOf('203.0.113.9'),
      );
    },
  );
  test('may have IPv6 entries with zones', () => {
    expect(addressOf({ ...hop, forwardedFor: '6.6.6.6, [2001:db8::1%eth0]:80' })).toBe(
      partitionOf('2001:db8::1'),
    );
  });
  test('is not read if the reported client is not a trusted proxy', () => {
    expect(addressOf({ client: '203.0.113.9', forwardedFor: '6.6.6.6' })).toBe(
      partitionOf('203.0.113.9'),
    );
  });
  test('is not read if the proxy reports no client', () => {
    expect(addressOf({ forwardedFor: '6.6.6.6' })).toBe(partitionOf('127.0.0.1'));
  });
  test('is not read for a process on the machine of the proxy', () => {
    expect(addressOf({ client: '127.0.0.1', forwardedFor: '6.6.6.6' })).toBe(
      partitionOf('127.0.0.1'),
    );
  });
  test.each(['junk', '', 'unknown', '127.1', '0x7f.0.0.1', '2130706433', '203.0.113.9:x', '[::1'])(
    'ends at an invalid entry ("%s"): the proxy that wrote it is the client',
    (junk) => {
      expect(addressOf({ ...hop, forwardedFor: `6.6.6.6, ${junk}, 10.0.0.2` })).toBe(
        partitionOf('10.0.0.2'),
      );
    },
  );
  test('ends at a loopback address, which may not claim to be another client', () => {
    for (const loopback of ['127.0.0.1', '127.8.8.8', '::1']) {
      expect(addressOf({ ...hop, forwardedFor: `6.6.6.6, ${loopback}, 10.0.0.2` })).toBe(
        partitionOf(loopback),
      );
    }
  });
  test('may begin with a comma', () => {
    expect(addressOf({ ...hop, forwardedFor: ', 10.0.0.2' })).toBe(partitionOf('10.0.0.2'));
    expect(addressOf({ ...hop, forwardedFor: ',203.0.113.9' })).toBe(partitionOf('203.0.113.9'));
  });
  test('is followed over 32 proxies and no further', () => {
    const proxies = (count: number) => Array(count).fill('10.0.0.2').join();
    const through = (count: number) =>
      addressOf({ ...hop, forwardedFor: `203.0.113.9,${proxies(count)}` });
    expect(through(31)).toBe(partitionOf('203.0.113.9'));
    expect(through(32)).toBe(partitionOf('10.0.0.2'));
  });
  test('with only trusted proxies ends at the first of them', () => {
    expect(addressOf({ ...hop, forwardedFor: '10.0.0.3, 10.0.0.2' })).toBe(partitionOf('10.0.0.3'));
  });
  test('is the only list that is read', () => {
    expect(addressOf({ ...hop, forwarded: 'for=6.6.6.6' })).toBe(partitionOf('10.0.0.1'));
  });
});

describe('Forwarded', () => {
  const identify = resolver({ forwardedHeader: 'forwarded' });
  const nodeOf = (forwarded: string, forwardedFor = '6.6.6.6') =>
    identify({ client: '10.0.0.1', forwarded, forwardedFor }).address.daily.current;
  test.each([
    ['for=203.0.113.9', '203.0.113.9'],
    ['for=6.6.6.6, for=203.0.113.9', '203.0.113.9'],
    ['for=203.0.113.9;proto=https, by=10.0.0.1; FOR="10.0.0.2:80"', '203.0.113.9'],
    ['for="203.0.113.9:4711"', '203.0.113.9'],
    ['For="[2001:db8:cafe::17]:4711"', '2001:db8:cafe::17'],
    ['for="6.6.6.6, for=203.0.113.9', '203.0.113.9'],
    ['for="6.6.6.6;by=", for="203.0.113.9"', '203.0.113.9'],
    ['for=6.6.6.6;host="a, for=1.1.1.1", for=203.0.113.9', '203.0.113.9'],
    ['by=10.0.0.1;host="a;for=6.6.6.6";for=203.0.113.9', '203.0.113.9'],
  ])('%s names %s', (field, address) => {
    expect(nodeOf(field)).toBe(partitionOf(address));
  });
  test.each([
    'for=1.1.1.1;host="a\\", for=6.6.6.6;x=\\"b"',
    'by=x;host="a;for=6.6.6.6"',
    'for=unknown',
    'for=_hidden',
    'by=6.6.6.6',
    '',
    'for=6.6.6.6;for=6.6.6.7',
    'for="\\6"',
  ])('after an invalid element (%s), the proxy that wrote it is the client', (junk) => {
    expect(nodeOf(`for=6.6.6.6, ${junk}`)).toBe(partitionOf('10.0.0.1'));
  });
  test('is the only list that is read', () => {
    expect(nodeOf('')).toBe(partitionOf('10.0.0.1'));
  });
});

describe('CF-Connecting-IP', () => {
  const headers = { 'cf-connecting-ip': '203.0.113.9' };
  test('is used if Cloudflare is the peer', () => {
    const client = resolver()({ headers, peer: CLOUDFLARE, client: CLOUDFLARE });
    expect(client.kind).toBe('cf_connecting_ip');
    expect(client.address.daily.current).toBe(partitionOf('203.0.113.9'));
    expect(client.ignoredHeaders).toEqual([]);
  });
  test('is used if Cloudflare connected to a load balancer before the proxy', () => {
    const client = resolver()({
      headers,
      peer: '10.0.0.1',
      client: '10.0.0.1',
      forwardedFor: `6.6.6.6, ${CLOUDFLARE}`,
    });
    expect(client.address.daily.current).toBe(partitionOf('203.0.113.9'));
  });
  test.each([
    ['the peer is not Cloudflare', { headers, peer: '198.51.100.1', client: '198.51.100.1' }],
    ['the proxy does not report the peer', { headers, client: '198.51.100.1' }],
    ['the proxy is not trusted', { headers, proxy: '198.51.100.1', peer: CLOUDFLARE }],
    [
      'it has two values',
      { headers: { 'cf-connecting-ip': '203.0.113.9, 6.6.6.6' }, peer: '198.51.100.1' },
    ],
    [
      'a client writes Cloudflare into the list',
      {
        headers,
        peer: '10.0.0.1',
        client: '10.0.0.1',
        forwardedFor: `${CLOUDFLARE}, 198.51.100.1`,
      },
    ],
  ])('is ignored and reported if %s', (_, parts) => {
    const client = resolver()(parts);
    expect(client.kind).toBe('ip');
    expect(client.address.daily.current).toBe(partitionOf('198.51.100.1'));
    expect(client.ignoredHeaders).toEqual(['cf-connecting-ip']);
  });
  test('is the address of a client with a key too', () => {
    const client = resolver()({ headers: { ...headers, 'x-api-key': 'k' }, peer: CLOUDFLARE });
    expect(client.kind).toBe('api_key');
    expect(client.address.daily.current).toBe(partitionOf('203.0.113.9'));
  });
});

describe('any other header that holds an address', () => {
  const fastly: AddressHeader = {
    header: 'fastly-client-ip',
    kind: 'fastly_client_ip',
    setBy: compileAddressSet(['151.101.0.0/16']),
  };
  const setByProxy: AddressHeader = { header: 'x-client', kind: 'x_client', setBy: 'proxy' };
  const headers = { 'fastly-client-ip': '203.0.113.9', 'x-client': '203.0.113.10' };
  const identify = resolver({ sources: [fastly, setByProxy, 'ip'] });
  test('is used if its CDN is the peer', () => {
    const client = identify({ headers, peer: '151.101.1.1', client: '151.101.1.1' });
    expect(client.kind).toBe('fastly_client_ip');
    expect(client.address.daily.current).toBe(partitionOf('203.0.113.9'));
  });
  test('is used if the proxy sets it', () => {
    const client = identify({ headers, peer: '198.51.100.1', client: '198.51.100.1' });
    expect(client.kind).toBe('x_client');
    expect(client.address.daily.current).toBe(partitionOf('203.0.113.10'));
    expect(client.ignoredHeaders).toEqual(['fastly-client-ip']);
  });
  test('is ignored from a proxy that is not trusted', () => {
    const client = identify({ headers, proxy: '198.51.100.1' });
    expect(client.kind).toBe('ip');
    expect(client.address.daily.current).toBe(partitionOf('198.51.100.1'));
    expect(client.ignoredHeaders).toEqual(['fastly-client-ip', 'x-client']);
  });
});

test('all headers that only a trusted proxy may set are ignored and reported from any other', () => {
  const client = resolver({ sources: ['user', CF_CONNECTING_IP, 'ip'] })({
    proxy: '203.0.113.1',
    headers: {
      'x-real-ip': '6.6.6.6',
      'x-forwarded-for': '6.6.6.6',
      'cf-connecting-ip': '6.6.6.6',
      'x-user': 'ann',
      'x-other': 'x',
    },
  });
  expect(client.ignoredHeaders).toEqual([
    'x-real-ip',
    'x-forwarded-for',
    'cf-connecting-ip',
    'x-user',
  ]);
});

describe('an IPv6 client', () => {
  const identify = resolver({ ipv6Prefixes: [64, 56, 48] });
  const networks = (client: string) => {
    const { daily, wider } = identify({ client }).address;
    return [daily.current, ...wider.map((each) => each.daily.current)];
  };
  test('counts in every network size of the policy file', () => {
    const [own64, own56, own48] = networks('2001:db8:1:2203::1');
    expect(networks('2001:db8:1:22ff::1').slice(1)).toEqual([own56, own48]);
    expect(networks('2001:db8:1:ffff::1').slice(2)).toEqual([own48]);
    expect(new Set([own64, own56, own48]).size).toBe(3);
  });
  test('of NAT64 counts as its IPv4 address, which has no wider network', () => {
    expect(networks('64:ff9b::203.0.113.9')).toEqual(networks('203.0.113.9'));
    expect(networks('64:ff9b::cb00:7109')).toHaveLength(1);
  });
  test('next to the NAT64 prefix counts as IPv6', () => {
    expect(networks('64:ff9b:0:0:1::cb00:7109')).toHaveLength(3);
    expect(networks('64:ff9b:0:0:1::cb00:7109')).toEqual(networks('64:ff9b:0:0:1::cb00:7110'));
  });
});

test.each([
  ['NAT64', '64:ff9b::7f00:1', '64:ff9b::c000:207'],
  ['NAT64 with a local prefix', '64:ff9b:1::7f00:1', '64:ff9b:1::c000:207'],
  ['SIIT', '::ffff:0:7f00:1', '::ffff:0:c000:207'],
  ['6to4', '2002:7f00:1::1', '2002:c000:207::1'],
  ['Teredo', '2001:0:1:1::80ff:fffe', '2001:0:1:1::3fff:fdf8'],
  ['An IPv4-compatible address', '::127.0.0.1', '::192.0.2.7'],
])('%s with a trusted IPv4 address is not a trusted proxy', (_, loopback, listed) => {
  const identify = resolver({ trustedProxies: compileAddressSet(['loopback', '192.0.2.7']) });
  for (const proxy of [loopback, listed]) {
    expect(identify({ proxy, client: '6.6.6.6' }).untrustedProxy).toBe(true);
    // It does not continue a list of forwarded addresses either.
    const { address } = identify({ client: proxy, forwardedFor: '6.6.6.6' });
    expect(address).toEqual(identify({ client: proxy }).address);
    expect(address).not.toEqual(identify({ client: '6.6.6.6' }).address);
  }
});

describe('lists of clients', () => {
  const entry = (parts: Partial<ListEntry>): ListEntry => ({
    address: undefined,
    key: undefined,
    expiresMs: Number.POSITIVE_INFINITY,
    ...parts,
  });
  const identify = resolver({
    apiKeys: [listedKey('listed'), listedKey('stolen', 'mallory')],
    accessLists: compileAccessLists(
      [
        entry({ address: '198.51.100.0/24' }),
        entry({ address: '203.0.113.50', expiresMs: NOON_MS }),
        entry({ address: '203.0.113.51', expiresMs: NOON_MS + 1 }),
        entry({ address: 'loopback' }),
        entry({ address: 'private' }),
        entry({ address: '64:ff9b::c000:201' }),
        entry({ address: '2001:0:7:7::/64' }),
        entry({ key: 'alice' }),
      ],
      [
        entry({ address: '198.51.0.0/16' }),
        entry({ key: 'mallory' }),
        entry({ address: '2001:db8::/32' }),
        entry({ address: '2002:808::/32' }),
      ],
      {},
    ),
  });
  const key = (value: string) => ({ 'x-api-key': value });
  test.each([
    ['an exempt address', { client: '198.51.100.9' }, 'exempt'],
    ['an exempt address that is listed as NAT64', { client: '192.0.2.1' }, 'exempt'],
    ['an exempt key', { client: '203.0.113.9', headers: key('listed') }, 'exempt'],
    [
      'an exempt key of a blocked address',
      { client: '198.51.1.1', headers: key('listed') },
      'exempt',
    ],
    ['an exemption that has expired', { client: '203.0.113.50' }, undefined],
    ['an exemption that expires in a millisecond', { client: '203.0.113.51' }, 'exempt'],
    ['a blocked address', { client: '198.51.1.1' }, 'blocked'],
    ['a blocked IPv4 address behind NAT64', { client: '64:ff9b::198.51.1.1' }, 'blocked'],
    ['a blocked IPv4 address by 6to4', { client: '2002:c633:101:7::1' }, 'blocked'],
    ['a blocked IPv4 address by Teredo', { client: '2001:0:1:1::39cc:fefe' }, 'blocked'],
    ['a blocked IPv4 address by SIIT', { client: '::ffff:0:198.51.1.1' }, 'blocked'],
    ['an exempt IPv4 address by 6to4', { client: '2002:cb00:7133::1' }, undefined],
    ['an exempt IPv4 address by Teredo', { client: '2001:0:1:1::34ff:8ecc' }, undefined],
    ['an exempt and blocked one by 6to4', { client: '2002:c633:6409::1' }, 'blocked'],
    ['an exempt one behind NAT64', { client: '64:ff9b::203.0.113.51' }, 'exempt'],
    ['a blocked network of 6to4', { client: '2002:808:808::1' }, 'blocked'],
    ['an exempt network of Teredo', { client: '2001:0:7:7::34ff:8ef6' }, 'exempt'],
    ['a blocked network', { client: '2001:db8:7::1' }, 'blocked'],
    ['a blocked key', { client: '203.0.113.9', headers: key('stolen') }, 'blocked'],
    ['an unlisted key', { client: '203.0.113.9', headers: key('alice') }, undefined],
    [
      'a blocked key of an exempt address',
      { client: '198.51.100.9', headers: key('stolen') },
      'exempt',
    ],
    [
      'an exempt address that is loopback, which is a trusted proxy',
      { client: '127.0.0.5' },
      undefined,
    ],
    ['a client on no list', { client: '203.0.113.9' }, undefined],
    ['the clients of a proxy that reports no client', {}, undefined],
    ['a load balancer that reports no client', { client: '10.0.0.5', peer: '10.0.0.5' }, undefined],
    [
      'a load balancer that reports an invalid client',
      { client: '10.0.0.5', forwardedFor: '203.0.113.9, unknown' },
      undefined,
    ],
    ['a local address behind NAT64', { client: '64:ff9b::10.0.0.5' }, undefined],
    ['the clients of a proxy that is not trusted', { proxy: '203.0.113.51' }, undefined],
    ['a blocked caller', { proxy: '198.51.1.1' }, 'blocked'],
  ])('%s', (_, parts, access) => {
    expect(identify(parts).access).toBe(access);
  });
});

describe('a plan', () => {
  const identify = resolver({ apiKeys: [listedKey('listed', 'alice', 'pro')] });
  test('is the plan of a listed key', () => {
    expect(identify({ headers: { 'x-api-key': 'listed' } }).plan).toBe('pro');
  });
  test('is undefined for other clients', () => {
    expect(identify({ headers: { 'x-api-key': 'pro' } }).plan).toBeUndefined();
  });
});

describe('Authorization as the header of keys', () => {
  const identify = resolver({ apiKeyHeader: 'authorization', apiKeys: [listedKey('listed')] });
  const listed = (authorization: string) =>
    identify({ headers: { authorization } }).apiKey?.unverified === false;
  test.each(['Bearer listed', 'bearer listed', 'BEARER  listed '])(
    '"%s" contains the key',
    (value) => {
      expect(listed(value)).toBe(true);
    },
  );
  test.each([
    'listed',
    'Token listed',
    'token token=listed',
    'Token token="listed", nonce="x"',
    'ApiKey listed;x',
    '!listed!',
    'JWT  listed, Basic x',
  ])('"%s" contains the key: applications may not compare the scheme', (value) => {
    expect(listed(value)).toBe(true);
  });
  test.each([
    'other',
    'Basic other',
    `Basic ${'x '.repeat(8)}listed`,
    'Bearer',
    'Bearer ',
    'Bearer a b',
    'Bearer listed, Bearer x',
  ])('"%s" contains no key', (value) => {
    expect(identify({ headers: { authorization: value } }).kind).toBe('ip');
  });
});

describe('a header that limits are per', () => {
  const config = { headers: ['x-tenant', 'x-plan'], verifiedHeaders: ['x-tenant'] };
  const headers = { 'x-tenant': 'acme', 'x-plan': 'gold' };
  test('is verified if a trusted proxy sets it', () => {
    const found = resolver(config)({ headers }).headers;
    expect(found.get('header:x-tenant')).toMatchObject({ unverified: false });
    expect(found.get('header:x-plan')).toMatchObject({ unverified: true });
    expect(found.get('header:x-tenant')?.partition).toMatch(/^h\.[\w-]{22}$/);
  });
  test('is unverified from a proxy that is not trusted', () => {
    const found = resolver(config)({ headers, proxy: '203.0.113.9' }).headers;
    expect(found.get('header:x-tenant')).toMatchObject({ unverified: true });
  });
  test.each([{}, { 'x-tenant': '' }, { 'x-tenant': 'a, b' }])(
    'is used only if it has one value: %j',
    (odd) => {
      expect(resolver(config)({ headers: odd }).headers.get('header:x-tenant')).toBeUndefined();
    },
  );
});
