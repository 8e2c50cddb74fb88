import { expect, test } from 'vitest';
import { KnownKeys } from '../../../../src/gateway/keys/known-keys.ts';
import { digestOf, keyRecord } from '../../../support/keys.ts';

const ACME = keyRecord('acme', { comment: 'called in May' });

test('a key is known from when it was found until it changed', () => {
  const known = new KnownKeys(() => 0);
  expect([known.has(ACME.digest), known.find(ACME.digest)]).toEqual([false, undefined]);
  known.rememberFound(ACME.digest, ACME);
  const { id, partition, plan, isBlocked, endsMs } = ACME;
  expect(known.has(ACME.digest)).toBe(true);
  // What only operators read is not kept for each of a million keys.
  expect(known.find(ACME.digest)).toEqual({ id, partition, plan, isBlocked, endsMs });
  known.forget([digestOf('another'), ACME.digest]);
  expect([known.has(ACME.digest), known.find(ACME.digest)]).toEqual([false, undefined]);
});

test('that there is no such key is known until it changed', () => {
  const known = new KnownKeys(() => 0);
  known.rememberUnknown(ACME.digest);
  expect([known.has(ACME.digest), known.find(ACME.digest)]).toEqual([true, undefined]);
  known.forget([ACME.digest]);
  expect(known.has(ACME.digest)).toBe(false);
});

test('that there is no such key is forgotten after five minutes, also if it is asked for all the time', () => {
  let nowMs = 0;
  const known = new KnownKeys(() => nowMs);
  known.rememberUnknown(ACME.digest);
  known.rememberFound(digestOf('another'), ACME);
  for (; nowMs < 300_000; nowMs += 1_000) expect(known.has(ACME.digest)).toBe(true);
  expect(known.has(ACME.digest)).toBe(false);
  expect(known.has(digestOf('another'))).toBe(true);
});

test('of everything, found or not, nothing is left', () => {
  const known = new KnownKeys(() => 0);
  known.rememberFound(ACME.digest, ACME);
  known.rememberUnknown(digestOf('another'));
  known.forget(undefined);
  expect([ACME.digest, digestOf('another')].map((each) => known.has(each))).toEqual([false, false]);
});

test('a client is known by its partition from when its key was used, with the key that it used last', () => {
  const known = new KnownKeys(() => 0);
  const next = keyRecord('acme', { key: 'next', plan: 'pro' });
  known.rememberFound(ACME.digest, ACME);
  known.rememberFound(next.digest, next);
  expect(known.clientOf(ACME.partition)).toBeUndefined();
  known.find(ACME.digest);
  expect(known.clientOf(ACME.partition)).toMatchObject({ id: 'acme', plan: 'free' });
  known.find(next.digest);
  expect(known.clientOf(ACME.partition)).toMatchObject({ id: 'acme', plan: 'pro' });
  known.forget(undefined);
  expect(known.clientOf(ACME.partition)).toMatchObject({ id: 'acme' });
});

test('it holds no more keys than its bound, found and invented ones apart', () => {
  const known = new KnownKeys(() => 0, 20);
  const customers = Array.from({ length: 10 }, (_, i) => keyRecord(`customer ${i}`));
  for (const each of customers) known.rememberFound(each.digest, each);
  for (let i = 0; i < 100_000; i++) known.rememberUnknown(`invented ${i}`);
  expect(customers.every(({ digest }) => known.find(digest) !== undefined)).toBe(true);
  const invented = Array.from({ length: 100_000 }, (_, i) => known.has(`invented ${i}`));
  expect(invented.filter(Boolean).length).toBeLessThanOrEqual(50_000);
  for (let i = 0; i < 100; i++) known.rememberFound(`found ${i}`, ACME);
  const found = Array.from({ length: 100 }, (_, i) => known.has(`found ${i}`));
  expect(found.filter(Boolean).length).toBeLessThanOrEqual(20);
});
