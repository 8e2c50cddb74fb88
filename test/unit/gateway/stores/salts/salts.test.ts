import { describe, expect, test } from 'vitest';
import {
  DAY_MS,
  LONG_PERIOD_MS,
  type PeriodSalts,
} from '../../../../../src/gateway/core/identity/salts.ts';
import { DerivedSalts, SaltBooks } from '../../../../../src/gateway/stores/salts/salt-sources.ts';
import { NOON_MS } from '../../../../support/requests.ts';
import { TestSaltVault } from '../../../../support/salt-vault.ts';

const SECRET = 'a secret of at least 32 characters';
const exported = (salts: PeriodSalts | undefined) =>
  [salts?.current, salts?.previous].map((key) => key?.export().toString('hex'));

describe('salts that are derived from a secret', () => {
  test('are the same for the same secret', () => {
    const [one, two] = [new DerivedSalts(SECRET), new DerivedSalts(SECRET)];
    expect(exported(one.at(NOON_MS, true).daily)).toEqual(exported(two.at(NOON_MS, true).daily));
    expect(exported(one.at(NOON_MS, true).long)).toEqual(exported(two.at(NOON_MS, true).long));
  });
  test('differ between periods of different length that begin at the same moment', () => {
    const { daily, long } = new DerivedSalts(SECRET).at(0, true);
    expect(daily.startMs).toBe(long?.startMs);
    expect(exported(daily)[0]).not.toBe(exported(long)[0]);
  });
  test('differ from day to day, from period to period, and by the secret', () => {
    const salts = new DerivedSalts(SECRET);
    const today = salts.at(NOON_MS, true);
    const all = [
      ...exported(today.daily),
      ...exported(today.long),
      ...exported(salts.at(NOON_MS + DAY_MS, true).daily).slice(0, 1),
      ...exported(new DerivedSalts(`${SECRET}!`).at(NOON_MS, true).daily),
      today.kept.export().toString('hex'),
      new DerivedSalts(`${SECRET}!`).at(NOON_MS, true).kept.export().toString('hex'),
    ];
    expect(new Set(all).size).toBe(all.length);
    expect(all.every((each) => each?.length === 64)).toBe(true);
  });
  test('have one kept secret for all days', () => {
    const [one, two] = [new DerivedSalts(SECRET), new DerivedSalts(SECRET)];
    const { kept } = one.at(NOON_MS, true);
    expect(kept.export()).toEqual(two.at(NOON_MS + 400 * DAY_MS, false).kept.export());
  });
  test("have today's salt as the previous one tomorrow, even if it was not used today", () => {
    const [today] = exported(new DerivedSalts(SECRET).at(NOON_MS, false).daily);
    expect(exported(new DerivedSalts(SECRET).at(NOON_MS + DAY_MS, false).daily)[1]).toBe(today);
  });
  test('are the same object until something changes', () => {
    const salts = new DerivedSalts(SECRET);
    const first = salts.at(NOON_MS, false);
    expect(salts.at(NOON_MS + 1, false)).toBe(first);
    expect(salts.at(NOON_MS + DAY_MS, false)).not.toBe(first);
    const long = salts.at(NOON_MS, true);
    expect(salts.at(NOON_MS + 1, true)).toBe(long);
  });
  test('are the same objects when checks without long windows and calls with them take turns', () => {
    const salts = new DerivedSalts(SECRET);
    const [without, long] = [salts.at(NOON_MS, false), salts.at(NOON_MS, true)];
    expect(salts.at(NOON_MS, false)).toBe(without);
    expect(salts.at(NOON_MS, true)).toBe(long);
  });
});

describe('both salt books together', () => {
  test('have salts for long windows if requested', async () => {
    const shelf = new SaltBooks();
    expect(shelf.at(NOON_MS, false).long).toBeUndefined();
    expect(shelf.at(NOON_MS, true).long?.startMs).toBe(
      Math.floor(NOON_MS / LONG_PERIOD_MS) * LONG_PERIOD_MS,
    );
  });
  test('agree on salts for long windows before they are needed', async () => {
    const vault = new TestSaltVault();
    await new SaltBooks(vault).refresh(NOON_MS);
    const periods = new Set([...vault.salts.keys()].map((name) => name.split(':')[0]));
    expect([...periods]).toEqual(['kept', '1d', '31d']);
  });
  test('return the same object after a refresh', async () => {
    const shelf = new SaltBooks();
    const first = shelf.at(NOON_MS, false);
    await shelf.refresh(NOON_MS + 60_000);
    expect(shelf.at(NOON_MS + 60_000, false)).toBe(first);
  });
  test('have no salt two days after its day began', async () => {
    const shelf = new SaltBooks();
    const midnight = Date.UTC(2026, 10, 21);
    const known = new Set<string | undefined>();
    const [salt] = exported(shelf.at(midnight, false).daily);
    for (let hour = 0; hour <= 48; hour++) {
      const nowMs = midnight + hour * 3_600_000;
      await shelf.refresh(nowMs);
      for (const each of exported(shelf.at(nowMs, false).daily)) {
        if (hour === 48) known.add(each);
      }
    }
    expect(salt).toBeDefined();
    expect(known.has(salt)).toBe(false);
    // Not even when time is asked about again that has passed.
    expect(exported(shelf.at(midnight + DAY_MS, false).daily)).not.toContain(salt);
  });
});
