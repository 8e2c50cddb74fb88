import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { holdsAddress } from '../../../../../src/gateway/core/identity/address.ts';

describe('a text holds an address', () => {
  test.each([
    '203.0.113.7',
    '203.0.113.7:443',
    '10.0.0.0/8',
    '010.000.000.001',
    '2001:db8::1',
    '2001:DB8:0:0:0:0:0:1',
    '[2001:db8::1]:443',
    '2001:db8:0:0:0:0:0:1:443',
    '2001:db8::/32',
    'fe80::1%eth0',
    '::1',
    '::ffff:203.0.113.7',
    '::ffff:cb00:7107',
    '64:ff9b::cb00:7107',
    '203.0.113.7,10.0.0.1',
    'unknown, 2001:db8::1',
    'for="[2001:db8::1]:80";proto=https',
    'for=203.0.113.7',
    'client-203.0.113.7',
    'client:2001:db8::1',
    'ip:2001:db8:1:2:3:4:5:6',
    '7.113.0.203.in-addr.arpa',
    // Nobody can tell what a list of this length holds.
    'a'.repeat(257),
  ])('%s', (text) => expect(holdsAddress(text)).toBe(true));
});

describe('a text holds no address', () => {
  test.each([
    '',
    'acme',
    '/api/v1.2/login',
    'tenant:eu:acme',
    'user@example.com',
    '12:34:56',
    '00:1b:44:11:3a:b7',
    '2026-11-22T00:00:00Z',
    '1.2.3',
    'urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66',
    'a'.repeat(256),
  ])('%s', (text) => expect(holdsAddress(text)).toBe(false));
});

test('every address is found, with whatever a list or a field puts around it', () => {
  const address = fc.oneof(fc.ipV4(), fc.ipV6());
  const around = fc.constantFrom('', ' ', ',', ';', '"', 'ip=', '[', ']', '/', '-', 'unknown, ');
  fc.assert(
    fc.property(around, address, around, (before, text, after) =>
      holdsAddress(before + text + after),
    ),
    { numRuns: 2_000 },
  );
});
