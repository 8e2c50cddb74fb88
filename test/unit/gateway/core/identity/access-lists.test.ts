import { describe, expect, test } from 'vitest';
import {
  compileAccessLists,
  type ListEntry,
  NOT_LISTED,
} from '../../../../../src/gateway/core/identity/access-lists.ts';

const FOREVER = Number.POSITIVE_INFINITY;
const address = (text: string, expiresMs = FOREVER): ListEntry => ({
  address: text,
  key: undefined,
  expiresMs,
});
const key = (id: string, expiresMs = FOREVER): ListEntry => ({
  address: undefined,
  key: id,
  expiresMs,
});

test('an address and a key that no list names share one object', () => {
  const lists = compileAccessLists([address('192.0.2.1')], [key('acme')], {});
  expect(lists.ofAddress('203.0.113.9')).toBe(NOT_LISTED);
  expect(lists.ofKey('other')).toBe(NOT_LISTED);
});

test('exemptions and blocks are kept apart', () => {
  const lists = compileAccessLists(
    [address('192.0.2.1', 10), key('acme', 20)],
    [address('192.0.2.1', 30), key('acme', 40)],
    {},
  );
  expect(lists.ofAddress('192.0.2.1')).toMatchObject({
    exempt: { expiresMs: 10 },
    block: { expiresMs: 30 },
  });
  expect(lists.ofKey('acme')).toMatchObject({
    exempt: { expiresMs: 20 },
    block: { expiresMs: 40 },
  });
});

describe('of several entries for one client, the latest expiry counts', () => {
  test.each([
    ['ascending', [1, 5, 9]],
    ['descending', [9, 5, 1]],
    ['mixed', [5, 9, 1]],
  ])('written in %s order', (_, expiries) => {
    const lists = compileAccessLists(
      expiries.map((expiresMs) => address('192.0.2.0/24', expiresMs)),
      expiries.map((expiresMs) => key('acme', expiresMs)),
      {},
    );
    expect(lists.ofAddress('192.0.2.1').exempt?.expiresMs).toBe(9);
    expect(lists.ofKey('acme').block?.expiresMs).toBe(9);
  });
  test('for an address and the tunnel that it comes through', () => {
    const lists = compileAccessLists([], [address('203.0.113.9', 3), address('2002::/16', 7)], {});
    expect(lists.ofAddress('2002:cb00:7109::1').block?.expiresMs).toBe(7);
    expect(lists.ofAddress('203.0.113.9').block?.expiresMs).toBe(3);
  });
});

test('a named range lists all of its networks', () => {
  const lists = compileAccessLists([], [address('edge')], { edge: ['198.51.100.0/24'] });
  expect(lists.ofAddress('198.51.100.7').block?.expiresMs).toBe(FOREVER);
});

test('an entry that is not an address is refused by name', () => {
  expect(() => compileAccessLists([address('nowhere')], [], {})).toThrow(/"nowhere"/);
  expect(() => compileAccessLists([], [address('nowhere')], {})).toThrow(/"nowhere"/);
});
