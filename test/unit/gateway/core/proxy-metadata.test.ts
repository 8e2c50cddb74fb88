import { describe, expect, test } from 'vitest';
import { nameIn, plainMetadata } from '../../../../src/gateway/core/proxy-metadata.ts';

describe('a name is', () => {
  test.each<[unknown, string | undefined]>([
    ['alice', 'alice'],
    ['Alice', 'Alice'],
    [' ', ' '],
    [7, '7'],
    [-7, '-7'],
    [0.1, undefined],
    [2 ** 53, undefined],
    [Number.NaN, undefined],
    ['', undefined],
    ['\u007f', undefined],
    ['\ud800', undefined],
    ['ü'.repeat(512), 'ü'.repeat(512)],
    ['ü'.repeat(513), undefined],
    [true, undefined],
    [null, undefined],
    [undefined, undefined],
    [7n, undefined],
    [{}, undefined],
    [['alice'], undefined],
  ])('%o: %o', (value, name) => {
    expect(nameIn(value)).toBe(name);
  });
});

describe('plain objects', () => {
  const { text } = plainMetadata({ jwt: { payload: { sub: 'alice', one: ['a'], two: [1, 2] } } });

  test.each<[string[], string | undefined]>([
    [['payload', 'sub'], 'alice'],
    [['payload', 'one'], 'a'],
    [['payload', 'two'], undefined],
    [['payload', 'one', '0'], undefined],
    [['payload', 'sub', 'length'], undefined],
    [['payload', 'constructor', 'name'], undefined],
    [['payload'], undefined],
    [[], undefined],
  ])('%j: %o', (path, found) => {
    expect(text('jwt', path)).toBe(found);
  });

  test('know only their namespaces', () => {
    expect(text('other', ['payload', 'sub'])).toBeUndefined();
    expect(text('constructor', ['name'])).toBeUndefined();
  });
});
