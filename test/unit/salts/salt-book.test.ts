import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../../src/core/salts.ts';
import { SaltBook, type SaltVault } from '../../../src/salts/salt-book.ts';
import { NOON_MS } from '../../support/requests.ts';

/** What a shared store does, in a map. */
class Vault implements SaltVault {
  readonly salts = new Map<number, Buffer>();
  away = false;
  async get(day: number) {
    if (this.away) throw new Error('away');
    return this.salts.get(day);
  }
  async agree(day: number, proposed: Buffer) {
    if (this.away) throw new Error('away');
    const agreed = this.salts.get(day) ?? proposed;
    this.salts.set(day, agreed);
    return agreed;
  }
}

const exported = (key: { export(): Buffer } | undefined) => key?.export().toString('hex');

describe('a salt book', () => {
  test('has the same salts as every other one on its vault', async () => {
    const vault = new Vault();
    const [one, two] = [new SaltBook(DAY_MS, vault), new SaltBook(DAY_MS, vault)];
    await one.refresh(NOON_MS);
    await two.refresh(NOON_MS);
    expect(exported(one.at(NOON_MS).current)).toBe(exported(two.at(NOON_MS).current));
  });

  test("passes midnight without its vault: tomorrow's salt was made ahead", async () => {
    const vault = new Vault();
    const [one, two] = [new SaltBook(DAY_MS, vault), new SaltBook(DAY_MS, vault)];
    await one.refresh(NOON_MS);
    await two.refresh(NOON_MS);
    vault.away = true;
    const [today, tomorrow] = [one.at(NOON_MS), one.at(NOON_MS + DAY_MS)];
    expect(exported(tomorrow.previous)).toBe(exported(today.current));
    expect(exported(tomorrow.current)).not.toBe(exported(today.current));
    expect(exported(tomorrow.current)).toBe(exported(two.at(NOON_MS + DAY_MS).current));
  });

  test('gives the same object until something changes', async () => {
    const book = new SaltBook(DAY_MS, new Vault());
    await book.refresh(NOON_MS);
    const first = book.at(NOON_MS);
    await book.refresh(NOON_MS + 60_000);
    expect(book.at(NOON_MS + 60_000)).toBe(first);
  });

  test("starts without its vault, and takes the vault's salts once it is there", async () => {
    const vault = new Vault();
    vault.away = true;
    const book = new SaltBook(DAY_MS, vault);
    await expect(book.refresh(NOON_MS)).rejects.toThrow('away');
    const provisional = exported(book.at(NOON_MS).current);
    vault.away = false;
    await new SaltBook(DAY_MS, vault).refresh(NOON_MS);
    await book.refresh(NOON_MS);
    expect(exported(book.at(NOON_MS).current)).not.toBe(provisional);
    expect(exported(book.at(NOON_MS).current)).toBe(
      vault.salts.get(book.at(NOON_MS).startMs)?.toString('hex'),
    );
  });

  test('fills a vault that came back empty, so that whoever starts later agrees', async () => {
    const vault = new Vault();
    const one = new SaltBook(DAY_MS, vault);
    await one.refresh(NOON_MS);
    vault.salts.clear();
    await one.refresh(NOON_MS);
    const two = new SaltBook(DAY_MS, vault);
    await two.refresh(NOON_MS);
    for (const moment of [NOON_MS, NOON_MS + DAY_MS]) {
      expect(exported(two.at(moment).current)).toBe(exported(one.at(moment).current));
    }
  });

  test('gives up a salt of its own also when the day is over by then', async () => {
    const vault = new Vault();
    const lateMs = Date.UTC(2026, 10, 21, 23, 59);
    const [one, two] = [new SaltBook(DAY_MS, vault), new SaltBook(DAY_MS, vault)];
    await one.refresh(lateMs);
    two.at(lateMs);
    await two.refresh(lateMs + 120_000);
    expect(exported(two.at(lateMs + 120_000).previous)).toBe(exported(one.at(lateMs).current));
  });

  test('knows nothing of the day before yesterday', async () => {
    const book = new SaltBook(DAY_MS, new Vault());
    await book.refresh(NOON_MS);
    await book.refresh(NOON_MS + 3 * DAY_MS);
    expect(book.at(NOON_MS + DAY_MS).previous).toBeUndefined();
  });

  test('needs no vault', async () => {
    const book = new SaltBook(DAY_MS);
    await book.refresh(NOON_MS);
    const today = exported(book.at(NOON_MS).current);
    expect(today).toHaveLength(64);
    expect(exported(book.at(NOON_MS + DAY_MS).previous)).toBe(today);
  });
});
