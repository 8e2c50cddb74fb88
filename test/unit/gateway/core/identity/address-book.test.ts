import { createSecretKey } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  type AccessLists,
  NOT_LISTED,
} from '../../../../../src/gateway/core/identity/access-lists.ts';
import { compileAddressSet } from '../../../../../src/gateway/core/identity/address.ts';
import {
  createAddressBook,
  rememberMembers,
} from '../../../../../src/gateway/core/identity/address-book.ts';
import { SALTS } from '../../../../support/requests.ts';

const CLIENTS = 20_000;
const ADDRESSES = Array.from({ length: CLIENTS }, (_, i) => `10.0.${i >> 8}.${i & 255}`);
const OTHER_SALTS = {
  ...SALTS,
  daily: { ...SALTS.daily, current: createSecretKey(Buffer.alloc(32, 7)) },
};

function countedBook(rememberedAddresses?: number) {
  const looked: string[] = [];
  const accessLists = {
    ofAddress(address: string) {
      looked.push(address);
      return NOT_LISTED;
    },
  } as unknown as AccessLists;
  const book = createAddressBook({ ipv6Prefixes: [64], accessLists, rememberedAddresses });
  return { book, looked };
}

test('computes the partition of each of 20,000 clients once', () => {
  const { book, looked } = countedBook();
  for (let round = 0; round < 3; round++) for (const address of ADDRESSES) book(address, SALTS);
  expect(looked).toEqual(ADDRESSES);
});

test('gives the same partition after it had to forget an address', () => {
  const { book, looked } = countedBook(10);
  const [first = ''] = ADDRESSES;
  const { partition } = book(first, SALTS);
  for (const address of ADDRESSES.slice(1, 100)) book(address, SALTS);
  expect(book(first, SALTS).partition).toEqual(partition);
  expect(looked).toHaveLength(101);
});

test('uses no partition of salts that have changed', () => {
  const { book } = countedBook();
  const [address = ''] = ADDRESSES;
  const before = book(address, SALTS).partition.daily.current;
  const after = book(address, OTHER_SALTS).partition.daily.current;
  expect(after).not.toBe(before);
  expect(book(address, SALTS).partition.daily.current).toBe(before);
});

test('searches the ranges of a set once for each of 20,000 addresses', () => {
  const set = compileAddressSet(['10.0.1.0/24']);
  let searches = 0;
  const counted = Object.assign((address: string) => {
    searches++;
    return set(address);
  }, set);
  const isMember = rememberMembers(counted);
  for (let round = 0; round < 2; round++) expect(ADDRESSES.filter(isMember)).toHaveLength(256);
  expect(searches).toBe(CLIENTS);
});
