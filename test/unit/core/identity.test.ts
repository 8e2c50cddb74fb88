import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { compileAddressSet } from '../../../src/core/address.ts';
import { compileIdentity, type IdentityConfig } from '../../../src/core/identity.ts';
import { checkRequest, SALTS } from '../../support/requests.ts';

const CLOUDFLARE = '173.245.48.5';

function resolver(config: Partial<IdentityConfig> = {}) {
  const resolve = compileIdentity({
    sources: ['api_key', 'cf_connecting_ip', 'ip'],
    apiKeyHeader: 'x-api-key',
    apiKeys: new Map([[hash('sha256', 'listed', 'hex'), 'alice']]),
    userHeader: 'x-user',
    trustedProxies: compileAddressSet(['loopback', '10.0.0.0/8']),
    cloudflare: compileAddressSet(['173.245.48.0/20']),
    ipv6PrefixBits: 64,
    headers: [],
    verifiedHeaders: [],
    hasLongWindows: false,
    ...config,
  });
  return (parts: Parameters<typeof checkRequest>[0]) => resolve(checkRequest(parts), SALTS);
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
  test('the address comes first where the file says so', () => {
    const client = resolver({ sources: ['ip', 'api_key'] })({ headers: { 'x-api-key': 'listed' } });
    expect(client.kind).toBe('ip');
    expect(client.apiKey).toBeDefined();
  });
  test('a source that is not listed is not read', () => {
    const client = resolver({ sources: ['ip'] })({ headers: { 'x-api-key': 'listed' } });
    expect(client).toMatchObject({ kind: 'ip', apiKey: undefined });
  });
  test('without any of the sources the client is its address', () => {
    expect(resolver({ sources: ['api_key'] })({})).toMatchObject({ kind: 'ip' });
  });
});

describe('API keys', () => {
  test('a key that is not listed is unverified', () => {
    expect(resolver()({ headers: { 'x-api-key': 'invented' } })).toMatchObject({
      kind: 'api_key',
      apiKey: { unverified: true },
    });
  });
  test('two keys of one client are one client', () => {
    const apiKeys = new Map(['old', 'new'].map((key) => [hash('sha256', key, 'hex'), 'alice']));
    const identify = resolver({ apiKeys });
    const partitions = ['old', 'new'].map(
      (key) => identify({ headers: { 'x-api-key': key } }).apiKey?.partition,
    );
    expect(partitions[0]).toBe(partitions[1]);
  });
  test.each(['a,b', 'listed, listed', '', 'x'.repeat(8_193)])('"%s" is no key', (key) => {
    expect(resolver()({ headers: { 'x-api-key': key } }).kind).toBe('ip');
  });
  test('a key called like a property of every object is a key', () => {
    expect(resolver({ apiKeyHeader: 'constructor' })({}).kind).toBe('ip');
  });
  test('neither key nor address shows in what is counted', () => {
    const client = resolver()({ headers: { 'x-api-key': 'hunter2' }, client: '203.0.113.9' });
    expect(JSON.stringify(client)).not.toMatch(/hunter2|203\.0\.113/);
  });
});

describe('users', () => {
  const identify = resolver({ sources: ['user', 'ip'] });
  test('are believed of a trusted proxy', () => {
    expect(identify({ headers: { 'x-user': 'ann' } }).kind).toBe('user');
  });
  test('are not believed of anyone else', () => {
    const client = identify({ headers: { 'x-user': 'ann' }, proxy: '203.0.113.1' });
    expect(client).toMatchObject({ kind: 'ip', user: undefined, untrustedProxy: true });
  });
});

describe('addresses', () => {
  test('a trusted proxy reports its client', () => {
    expect(addressOf({ client: '203.0.113.9', peer: '10.0.0.1' })).toBe(partitionOf('203.0.113.9'));
  });
  test('without a client the peer counts', () => {
    expect(addressOf({ peer: '203.0.113.9' })).toBe(partitionOf('203.0.113.9'));
  });
  test('what a proxy that is not trusted reports is ignored', () => {
    expect(addressOf({ proxy: '203.0.113.1', client: '203.0.113.9' })).toBe(
      partitionOf('203.0.113.1'),
    );
  });
  test.each(['junk', '127.1', '', '1.2.3.4, 5.6.7.8'])(
    'junk ("%s") makes the peer the client',
    (client) => {
      expect(addressOf({ client, peer: '203.0.113.9' })).toBe(partitionOf('203.0.113.9'));
    },
  );
  test('junk all over makes the proxy the client', () => {
    expect(addressOf({ client: 'x', peer: 'y' })).toBe(partitionOf('127.0.0.1'));
  });
  test('a mapped IPv4 address is that IPv4 address, and no other', () => {
    expect(partitionOf('::ffff:203.0.113.9')).toBe(partitionOf('203.0.113.9'));
    expect(partitionOf('::ffff:203.0.113.9')).not.toBe(partitionOf('::ffff:203.0.113.8'));
  });
  test('addresses of one IPv6 network are one client', () => {
    expect(partitionOf('2001:db8:1:2::1')).toBe(partitionOf('2001:db8:1:2:ffff::9'));
    expect(partitionOf('2001:db8:1:2::1')).not.toBe(partitionOf('2001:db8:1:3::1'));
  });
  test('pseudonyms of two days have nothing in common', () => {
    const { daily, long } = resolver({ hasLongWindows: true })({ client: '203.0.113.9' }).address;
    const all = [daily.current, daily.previous, long?.current, long?.previous];
    expect(new Set(all).size).toBe(4);
    expect(all.every((each) => each !== undefined)).toBe(true);
  });
  test('there is no pseudonym for longer than a day where no policy needs one', () => {
    expect(resolver()({ client: '203.0.113.9' }).address.long).toBeUndefined();
  });
});

describe('X-Forwarded-For', () => {
  const hop = { client: '10.0.0.1', peer: '10.0.0.1' };
  test('is walked from the right, over trusted proxies', () => {
    expect(addressOf({ ...hop, forwardedFor: '6.6.6.6, 203.0.113.9, 10.0.0.2' })).toBe(
      partitionOf('203.0.113.9'),
    );
  });
  test('is not read when the client is no trusted proxy', () => {
    expect(addressOf({ client: '203.0.113.9', forwardedFor: '6.6.6.6' })).toBe(
      partitionOf('203.0.113.9'),
    );
  });
  test('is not read when nobody reports a client', () => {
    expect(addressOf({ forwardedFor: '6.6.6.6' })).toBe(partitionOf('127.0.0.1'));
  });
  test('does not let a process beside the proxy be anyone', () => {
    expect(addressOf({ client: '127.0.0.1', forwardedFor: '6.6.6.6' })).toBe(
      partitionOf('127.0.0.1'),
    );
  });
  test('ends at junk, with whoever passed it on', () => {
    expect(addressOf({ ...hop, forwardedFor: '6.6.6.6, junk, 10.0.0.2' })).toBe(
      partitionOf('10.0.0.2'),
    );
  });
  test('of trusted proxies alone ends at the first of them', () => {
    expect(addressOf({ ...hop, forwardedFor: '10.0.0.3, 10.0.0.2' })).toBe(partitionOf('10.0.0.3'));
  });
});

describe('CF-Connecting-IP', () => {
  const headers = { 'cf-connecting-ip': '203.0.113.9' };
  test('is believed when Cloudflare is the peer', () => {
    const client = resolver()({ headers, peer: CLOUDFLARE, client: CLOUDFLARE });
    expect(client.kind).toBe('cf_connecting_ip');
    expect(client.address.daily.current).toBe(partitionOf('203.0.113.9'));
  });
  test.each([
    ['the peer is someone else', { headers, peer: '198.51.100.1', client: '198.51.100.1' }],
    ['nobody reports the peer', { headers, client: '198.51.100.1' }],
    ['the proxy is not trusted', { headers, proxy: '198.51.100.1', peer: CLOUDFLARE }],
    [
      'it is doubled',
      { headers: { 'cf-connecting-ip': '203.0.113.9, 6.6.6.6' }, peer: '198.51.100.1' },
    ],
  ])('is not believed when %s', (_, parts) => {
    const client = resolver()(parts);
    expect(client.kind).toBe('ip');
    expect(client.address.daily.current).toBe(partitionOf('198.51.100.1'));
  });
  test('is the address of a client with a key, too', () => {
    const client = resolver()({ headers: { ...headers, 'x-api-key': 'k' }, peer: CLOUDFLARE });
    expect(client.kind).toBe('api_key');
    expect(client.address.daily.current).toBe(partitionOf('203.0.113.9'));
  });
});

describe('a header that limits are per', () => {
  const config = { headers: ['x-tenant', 'x-plan'], verifiedHeaders: ['x-tenant'] };
  const headers = { 'x-tenant': 'acme', 'x-plan': 'gold' };
  test('is verified when a trusted proxy sets it itself', () => {
    const found = resolver(config)({ headers }).headers;
    expect(found.get('header:x-tenant')).toMatchObject({ unverified: false });
    expect(found.get('header:x-plan')).toMatchObject({ unverified: true });
    expect(found.get('header:x-tenant')?.partition).toMatch(/^h\.[\w-]{22}$/);
  });
  test('is not when the proxy is a stranger', () => {
    const found = resolver(config)({ headers, proxy: '203.0.113.9' }).headers;
    expect(found.get('header:x-tenant')).toMatchObject({ unverified: true });
  });
  test.each([{}, { 'x-tenant': '' }, { 'x-tenant': 'a, b' }])(
    'counts only if it has one value: %j',
    (odd) => {
      expect(resolver(config)({ headers: odd }).headers.get('header:x-tenant')).toBeUndefined();
    },
  );
});
