import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../../src/core/salts.ts';
import { SaltBook, type SaltVault } from '../../../src/stores/salt-book.ts';
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
    const [one, two] = [new SaltBook(vault), new SaltBook(vault)];
    await one.refresh(NOON_MS);
    await two.refresh(NOON_MS);
    expect(exported(one.at(NOON_MS).today)).toBe(exported(two.at(NOON_MS).today));
  });

  test("passes midnight without its vault: tomorrow's salt was made ahead", async () => {
    const vault = new Vault();
    const [one, two] = [new SaltBook(vault), new SaltBook(vault)];
    await one.refresh(NOON_MS);
    await two.refresh(NOON_MS);
    vault.away = true;
    const [today, tomorrow] = [one.at(NOON_MS), one.at(NOON_MS + DAY_MS)];
    expect(exported(tomorrow.yesterday)).toBe(exported(today.today));
    expect(exported(tomorrow.today)).not.toBe(exported(today.today));
    expect(exported(tomorrow.today)).toBe(exported(two.at(NOON_MS + DAY_MS).today));
  });

  test('gives the same object until something changes', async () => {
    const book = new SaltBook(new Vault());
    await book.refresh(NOON_MS);
    const first = book.at(NOON_MS);
    await book.refresh(NOON_MS + 60_000);
    expect(book.at(NOON_MS + 60_000)).toBe(first);
  });

  test("starts without its vault, and takes the vault's salts once it is there", async () => {
    const vault = new Vault();
    vault.away = true;
    const book = new SaltBook(vault);
    await expect(book.refresh(NOON_MS)).rejects.toThrow('away');
    const provisional = exported(book.at(NOON_MS).today);
    vault.away = false;
    await new SaltBook(vault).refresh(NOON_MS);
    await book.refresh(NOON_MS);
    expect(exported(book.at(NOON_MS).today)).not.toBe(provisional);
    expect(exported(book.at(NOON_MS).today)).toBe(
      vault.salts.get(book.at(NOON_MS).dayStartMs)?.toString('hex'),
    );
  });

  test('fills a vault that came back empty, so that whoever starts later agrees', async () => {
    const vault = new Vault();
    const one = new SaltBook(vault);
    await one.refresh(NOON_MS);
    vault.salts.clear();
    await one.refresh(NOON_MS);
    const two = new SaltBook(vault);
    await two.refresh(NOON_MS);
    for (const moment of [NOON_MS, NOON_MS + DAY_MS]) {
      expect(exported(two.at(moment).today)).toBe(exported(one.at(moment).today));
    }
  });

  test('gives up a salt of its own also when the day is over by then', async () => {
    const vault = new Vault();
    const lateMs = Date.UTC(2026, 10, 21, 23, 59);
    const [one, two] = [new SaltBook(vault), new SaltBook(vault)];
    await one.refresh(lateMs);
    two.at(lateMs);
    await two.refresh(lateMs + 120_000);
    expect(exported(two.at(lateMs + 120_000).yesterday)).toBe(exported(one.at(lateMs).today));
  });

  test('knows nothing of the day before yesterday', async () => {
    const book = new SaltBook(new Vault());
    await book.refresh(NOON_MS);
    await book.refresh(NOON_MS + 3 * DAY_MS);
    expect(book.at(NOON_MS + DAY_MS).yesterday).toBeUndefined();
  });

  test('needs no vault', async () => {
    const book = new SaltBook();
    await book.refresh(NOON_MS);
    const today = exported(book.at(NOON_MS).today);
    expect(today).toHaveLength(64);
    expect(exported(book.at(NOON_MS + DAY_MS).yesterday)).toBe(today);
  });
});
