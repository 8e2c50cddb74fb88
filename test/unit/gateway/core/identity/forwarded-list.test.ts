import { describe, expect, test } from 'vitest';
import type { ForwardedHeader } from '../../../../../src/gateway/core/check-request.ts';
import { forwardedEntries } from '../../../../../src/gateway/core/identity/client-address.ts';

/** At most ten: a list must never be read forever. */
function entries(list: string, header: ForwardedHeader = 'x-forwarded-for'): string[] {
  const found: string[] = [];
  for (const entry of forwardedEntries(list, header)) {
    found.push(entry);
    if (found.length === 10) break;
  }
  return found;
}

describe('X-Forwarded-For is read from the right', () => {
  test.each([
    ['a', ['a']],
    ['a, b ,c', ['c', 'b', 'a']],
    ['a,', ['', 'a']],
    [',a', ['a', '']],
    [',', ['', '']],
    ['a,,b', ['b', '', 'a']],
    ['', []],
  ])('%j', (list, expected) => {
    expect(entries(list)).toEqual(expected);
  });
});

describe('Forwarded has one node for each element', () => {
  test.each([
    ['for=a', ['a']],
    [',for=a', ['a', '']],
    ['for=a, by=b', ['', 'a']],
    ['for=a;for=b', ['']],
    ['for="a,b", for=c', ['c', 'a,b']],
    ['', []],
  ])('%j', (list, expected) => {
    expect(entries(list, 'forwarded')).toEqual(expected);
  });
});
