import { describe, expect, test } from 'vitest';
import { canonicalHost, isHost } from '../../../../../src/gateway/core/matching/host.ts';

test.each([
  ['Example.com:80', 'example.com'],
  ['example.com.:80', 'example.com'],
  ['my_service', 'my_service'],
  ['203.0.113.9:8080', '203.0.113.9'],
  ['[2001:DB8::1]:443', '[2001:db8::1]'],
  ['[::ffff:203.0.113.9]', '[::ffff:203.0.113.9]'],
  ['', ''],
])('%s is valid and means %s', (host, expected) => {
  expect(isHost(host)).toBe(true);
  expect(canonicalHost(host)).toBe(expected);
});

describe('a host that servers read differently is refused', () => {
  test.each([
    'admin.example.com:1:2',
    'admin.example.com::',
    'admin.example.com:',
    'admin.example.com:80:',
    'admin.example.com:]',
    'admin.example.com:80:admin',
    'admin.example.com:80a',
    'admin.example.com:-1',
    'admin.example.com:+80',
    'admin.example.com:123456',
    'admin.example.com..',
    '.admin.example.com',
    'admin..example.com',
    'b,admin.example.com',
    'b, admin.example.com',
    'b@admin.example.com',
    'b/admin.example.com',
    'b\\admin.example.com',
    'b#admin.example.com',
    'b?admin.example.com',
    'admin.example.com%00',
    '%61dmin.example.com',
    'admin.example.com b',
    'admin.example.com\t',
    'admin.example.com;b',
    'admin.exam\xadple.com',
    'admin.example.com\u3002',
    '\xef\xbd\x81dmin.example.com',
    '[::1',
    '::1',
    '[::1]]',
    '[::1]:80:80',
    '[::1]admin.example.com',
    'admin.example.com[::1]',
    '[::1%25eth0]',
    '[::::]',
    '[admin.example.com]',
    '[203.0.113.9]',
    '*.example.com',
    ':80',
    '.',
    `${'a.'.repeat(30_000)}example.com`,
  ])('%.60s', (host) => {
    expect(isHost(host)).toBe(false);
  });
});
