import { describe, expect, test } from 'vitest';
import {
  addressNetwork,
  canonicalAddress,
  compileAddressSet,
  countedAddress,
  exemptedAddress,
  isLoopback,
} from '../../../../../src/gateway/core/identity/address.ts';

describe('an address has one spelling', () => {
  test.each([
    ['203.0.113.9', '203.0.113.9'],
    [' 203.0.113.9 ', '203.0.113.9'],
    ['203.0.113.9:4711', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['::ffff:cb00:7109', '203.0.113.9'],
    ['[::ffff:203.0.113.9]:80', '203.0.113.9'],
    ['::FFFF:CB00:7109', '203.0.113.9'],
    ['0:0:0:0:0:ffff:203.0.113.9', '203.0.113.9'],
    ['0000:0000:0000:0000:0000:ffff:cb00:7109', '203.0.113.9'],
    ['0::0:ffff:203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9%eth0', '203.0.113.9'],
    ['[::FFFF:203.0.113.9%25eth0]', '203.0.113.9'],
    ['2001:DB8:0:0::1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::127.0.0.1', '::7f00:1'],
    ['::7f00:1', '::7f00:1'],
    ['64:ff9b::127.0.0.1', '64:ff9b::7f00:1'],
    ['::ffff:0:127.0.0.1', '::ffff:0:7f00:1'],
    ['1:2:3:4:5:6:203.0.113.9', '1:2:3:4:5:6:cb00:7109'],
    ['::203.0.113.9%1.2.3.4', '::cb00:7109'],
  ])('%s is %s', (text, expected) => {
    expect(canonicalAddress(text)).toBe(expected);
  });
  test.each([
    '',
    'unknown',
    '_hidden',
    '127.1',
    '0177.0.0.1',
    '0x7f.0.0.1',
    '2130706433',
    '01.2.3.4',
    '1.2.3.4.5',
    '1.2.3.4:',
    '1.2.3.4:x',
    '[::1',
    '[::1]x',
    '::1, ::2',
    'example.com',
    '1.2.3.4/24',
  ])('"%s" is not an address', (text) => {
    expect(canonicalAddress(text)).toBeUndefined();
  });
});

test('an IPv6 address counts as its network, an IPv4 address as itself', () => {
  expect(addressNetwork('2001:db8:1:2:3::4', 64)).toBe('2001:db8:1:2::/64');
  expect(addressNetwork('2001:db8:1:2ff::4', 56)).toBe('2001:db8:1:200::/56');
  expect(addressNetwork('203.0.113.9', 64)).toBe('203.0.113.9');
});

/** Spellings of 203.0.113.9 in each form. */
const EMBEDDED = {
  NAT64: ['64:ff9b::203.0.113.9', '64:FF9B:0:0:0:0:cb00:7109'],
  'NAT64 with a local prefix': ['64:ff9b:1::203.0.113.9', '64:ff9b:1:2:3:4:cb00:7109'],
  SIIT: ['::ffff:0:203.0.113.9', '0:0:0:0:ffff:0:cb00:7109'],
  '6to4': [
    ...['2002:cb00:7109::', '2002:cb00:7109::1', '2002:CB00:7109:ffff:1:2:3:4'],
    ...['2002:cb00:7109:0:0:5efe:10.0.0.1'],
  ],
  Teredo: [
    ...['2001:0:4136:e378:8000:63bf:34ff:8ef6', '2001::34ff:8ef6'],
    ...['2001:0000:c000:201:0:ffff:34ff:8ef6', '2001:0:0:1::34ff:8ef6'],
  ],
};
const canonical = (text: string) => canonicalAddress(text) ?? '';

describe('an IPv4 client with an IPv6 address', () => {
  test.each(Object.entries(EMBEDDED))('of %s counts as its IPv4 address', (_, spellings) => {
    expect(spellings.map((text) => countedAddress(canonical(text)))).toEqual(
      spellings.map(() => '203.0.113.9'),
    );
  });
  test.each(Object.entries(EMBEDDED))(
    'of %s is exempt with its IPv4 address only for NAT64',
    (form, spellings) => {
      for (const text of spellings) {
        const expected = form === 'NAT64' ? '203.0.113.9' : canonical(text);
        expect(exemptedAddress(canonical(text))).toBe(expected);
      }
    },
  );
  test('has one budget for all networks of its 6to4 site, and all Teredo servers', () => {
    const networks = (texts: readonly string[]) =>
      new Set(texts.map((text) => addressNetwork(countedAddress(canonical(text)), 64)));
    const numbers = Array.from({ length: 1_000 }, (_, i) => i.toString(16));
    expect(networks(numbers.map((i) => `2002:cb00:7109:${i}::1`)).size).toBe(1);
    expect(networks(numbers.map((i) => `2001:0:${i}:1::34ff:8ef6`)).size).toBe(1);
    // An embedded local address identifies no client, so all networks of its site share one budget.
    expect(networks(numbers.map((i) => `2002:a00:1:${i}::1`)).size).toBe(1);
    expect(networks(numbers.map((i) => `2001:0:${i}:1::80ff:fffe`)).size).toBe(1);
  });
  test.each([
    ['another IPv6 address', '2001:db8::cb00:7109'],
    ['an address beside Teredo', '2001:1::34ff:8ef6'],
    ['an address beside 6to4', '2003:cb00:7109::1'],
    ['an address beside NAT64', '64:ff9b:2::cb00:7109'],
    ['a shorter local prefix of NAT64', '64:ff9b:1:cb00:0:7109::'],
    ['a local prefix of 64 bits', '64:ff9b:1:2:cb:71:900:0'],
    ['ISATAP', '2001:db8::5efe:203.0.113.9'],
    ['an IPv4-compatible address', '::203.0.113.9'],
    ['loopback', '::1'],
    ['the unspecified address', '::'],
  ])('is not found in %s', (_, text) => {
    expect(countedAddress(canonical(text))).toBe(canonical(text));
    expect(exemptedAddress(canonical(text))).toBe(canonical(text));
  });
  test.each([
    ...['64:ff9b::127.0.0.1', '64:ff9b:1::127.0.0.1', '::ffff:0:127.0.0.1', '::127.0.0.1'],
    ...['2002:7f00:1::1', '2001:0:1:1:0:0:80ff:fffe', 'fe80::5efe:127.0.0.1'],
    ...['64:ff9b::10.0.0.1', '2002:a00:1::1', '2001:0:1:1:0:0:f5ff:fffe'],
  ])('is never loopback or private: %s', (text) => {
    const trusted = compileAddressSet(['loopback', '10.0.0.0/8', '192.168.0.0/16']);
    for (const address of [countedAddress(canonical(text)), canonical(text)]) {
      expect(isLoopback(address)).toBe(false);
      expect(trusted(address)).toBe(false);
    }
  });
});

describe('a set of ranges', () => {
  const set = compileAddressSet(['loopback', '10.1.0.0/16', '2001:db8::/32', '192.0.2.7', 'edge'], {
    edge: ['198.51.100.0/24'],
  });
  test.each([
    '127.0.0.1',
    '127.9.9.9',
    '::1',
    '10.1.255.255',
    '2001:db8::1',
    '192.0.2.7',
    '198.51.100.3',
  ])('holds %s', (address) => expect(set(address)).toBe(true));
  test.each(['10.2.0.1', '192.0.2.8', '2001:db9::1', '8.8.8.8'])('does not hold %s', (address) => {
    expect(set(address)).toBe(false);
  });
  test.each(['10.0.0.0/33', '10.0.0.0/', '10.0.0.0/-1', '::/129', 'everyone', '127.1', ''])(
    'refuses "%s"',
    (entry) => expect(() => compileAddressSet([entry])).toThrow(RangeError),
  );
});
