import { expect, test } from 'vitest';
import { maskAddresses } from '../../../../../src/cli/evidence/replay/mask-addresses.ts';

test.each([
  ['203.0.113.9 - -', '[address] - -'],
  ['203.0.113.9:4711 to [2001:db8::1]:443', '[address]:4711 to [[address]]:443'],
  ['client=2001:0db8:0000:0000:0000:0000:0000:0001,', 'client=[address],'],
  ['fe80::1%eth0', '[address]%eth0'],
  ['"::ffff:203.0.113.9"', '"[address]"'],
  ['?ip=2001%3Adb8%3A%3A1&x', '?ip=[address]&x'],
  [
    '{"remote_ip":"203.0.113.9","client_ip":"2001:db8::7"}',
    '{"remote_ip":"[address]","client_ip":"[address]"}',
  ],
  ['ec2-203-0-113-9.example.com', 'ec[address].example.com'],
  ['x203.0.113.9', 'x[address]'],
  // Lines that were cut.
  ['GET / from 203.0.113.', 'GET / from [address]'],
  ['GET / from 2001:db8:1:f', 'GET / from [address]'],
])('hides the addresses of %j', (text, masked) => {
  expect(maskAddresses(text)).toBe(masked);
});

test.each([
  '[05/Jan/2026:10:20:30 +0000] "GET /a/b HTTP/1.1" 200 612',
  '2026-01-05T10:20:30.123456Z 2026-01-05-10-20-30 1767608430.123',
  '{"a":1,"b":{"c":[2,3]}}',
  'curl/8.5.0 Chrome/120.0 version 1.2',
  'time: 10:20:30, cost: 3',
])('leaves %j as it is', (text) => {
  expect(maskAddresses(text)).toBe(text);
});
