import { describe, expect, test } from 'vitest';
import { addressNetwork, canonicalAddress, compileAddressSet } from '../../../src/core/address.ts';

describe('an address has one spelling', () => {
  test.each([
    ['203.0.113.9', '203.0.113.9'],
    [' 203.0.113.9 ', '203.0.113.9'],
    ['203.0.113.9:4711', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['::ffff:cb00:7109', '203.0.113.9'],
    ['[::ffff:203.0.113.9]:80', '203.0.113.9'],
    ['2001:DB8:0:0::1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
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
  ])('"%s" is none', (text) => {
    expect(canonicalAddress(text)).toBeUndefined();
  });
});

test('IPv6 counts by its network, IPv4 by itself', () => {
  expect(addressNetwork('2001:db8:1:2:3::4', 64)).toBe('2001:db8:1:2::/64');
  expect(addressNetwork('2001:db8:1:2ff::4', 56)).toBe('2001:db8:1:200::/56');
  expect(addressNetwork('203.0.113.9', 64)).toBe('203.0.113.9');
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
    'cannot be made of "%s"',
    (entry) => expect(() => compileAddressSet([entry])).toThrow(RangeError),
  );
});
