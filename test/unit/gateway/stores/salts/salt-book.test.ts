import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../../../../src/gateway/core/identity/salts.ts';
import { SaltBook } from '../../../../../src/gateway/stores/salts/salt-book.ts';
import { NOON_MS } from '../../../../support/requests.ts';
import { TestSaltVault } from '../../../../support/salt-vault.ts';

/** A book and the vault that it shares. */
function bookOn(vault?: TestSaltVault) {
  const book = new SaltBook(DAY_MS);
  return {
    at: (nowMs: number) => book.at(nowMs),
    async refresh(nowMs: number) {
      book.forget(nowMs);
      if (vault !== undefined) await book.agree(vault, nowMs);
    },
  };
}

const exported = (key: { export(): Buffer } | undefined) => key?.export().toString('hex');

describe('a salt book', () => {
  test('has the same salts as other books on its vault', async () => {
    const vault = new TestSaltVault();
    const [one, two] = [bookOn(vault), bookOn(vault)];
    await one.refresh(NOON_MS);
    await two.refresh(NOON_MS);
    expect(exported(one.at(NOON_MS).current)).toBe(exported(two.at(NOON_MS).current));
  });

  test("has tomorrow's salt at midnight, even if the vault is down", async () => {
    const vault = new TestSaltVault();
    const [one, two] = [bookOn(vault), bookOn(vault)];
    await one.refresh(NOON_MS);
    await two.refresh(NOON_MS);
    vault.away = true;
    const [today, tomorrow] = [one.at(NOON_MS), one.at(NOON_MS + DAY_MS)];
    expect(exported(tomorrow.previous)).toBe(exported(today.current));
    expect(exported(tomorrow.current)).not.toBe(exported(today.current));
    expect(exported(tomorrow.current)).toBe(exported(two.at(NOON_MS + DAY_MS).current));
  });

  test('gives the same object until something changes', async () => {
    const book = bookOn(new TestSaltVault());
    await book.refresh(NOON_MS);
    const first = book.at(NOON_MS);
    await book.refresh(NOON_MS + 60_000);
    expect(book.at(NOON_MS + 60_000)).toBe(first);
  });

  test("starts without its vault, and uses the vault's salts when it can be reached", async () => {
    const vault = new TestSaltVault();
    vault.away = true;
    const book = bookOn(vault);
    await expect(book.refresh(NOON_MS)).rejects.toThrow('away');
    const provisional = exported(book.at(NOON_MS).current);
    vault.away = false;
    await bookOn(vault).refresh(NOON_MS);
    await book.refresh(NOON_MS);
    expect(exported(book.at(NOON_MS).current)).not.toBe(provisional);
    expect(exported(book.at(NOON_MS).current)).toBe(
      vault.salts.get('1d:2026-11-21')?.toString('hex'),
    );
  });

  test('refills a vault that lost its data, so that gateways that start later agree', async () => {
    const vault = new TestSaltVault();
    const one = bookOn(vault);
    await one.refresh(NOON_MS);
    vault.salts.clear();
    await one.refresh(NOON_MS);
    const two = bookOn(vault);
    await two.refresh(NOON_MS);
    for (const moment of [NOON_MS, NOON_MS + DAY_MS]) {
      expect(exported(two.at(moment).current)).toBe(exported(one.at(moment).current));
    }
  });

  test('replaces its own salt even after the day has ended', async () => {
    const vault = new TestSaltVault();
    const lateMs = Date.UTC(2026, 10, 21, 23, 59);
    const [one, two] = [bookOn(vault), bookOn(vault)];
    await one.refresh(lateMs);
    two.at(lateMs);
    await two.refresh(lateMs + 120_000);
    expect(exported(two.at(lateMs + 120_000).previous)).toBe(exported(one.at(lateMs).current));
  });

  test('has no salt of the day before yesterday', async () => {
    const book = bookOn(new TestSaltVault());
    await book.refresh(NOON_MS);
    await book.refresh(NOON_MS + 3 * DAY_MS);
    expect(book.at(NOON_MS + DAY_MS).previous).toBeUndefined();
  });

  test('keeps the salt of the day before after a refresh', async () => {
    const book = bookOn();
    const yesterday = exported(book.at(NOON_MS).current);
    await book.refresh(NOON_MS + DAY_MS);
    expect(exported(book.at(NOON_MS + DAY_MS).previous)).toBe(yesterday);
  });

  test('makes up no salt for a day that has passed', async () => {
    const vault = new TestSaltVault();
    const book = bookOn(vault);
    await book.refresh(NOON_MS);
    expect(book.at(NOON_MS).previous).toBeUndefined();
    expect(vault.salts.size).toBe(2);
  });

  test('uses a salt that the vault has even if the vault refuses the next one', async () => {
    const vault = new TestSaltVault();
    await bookOn(vault).refresh(NOON_MS);
    vault.salts.delete('1d:2026-11-22');
    const book = bookOn(vault);
    book.at(NOON_MS);
    const agree = vault.agree.bind(vault);
    vault.agree = async (name, ...rest) => {
      if (!vault.salts.has(name)) throw new Error('OOM');
      return agree(name, ...rest);
    };
    await expect(book.refresh(NOON_MS)).rejects.toThrow('OOM');
    const stored = vault.salts.get('1d:2026-11-21')?.toString('hex');
    expect(exported(book.at(NOON_MS).current)).toBe(stored);
  });

  test('works without a vault', async () => {
    const book = bookOn();
    await book.refresh(NOON_MS);
    const today = exported(book.at(NOON_MS).current);
    expect(today).toHaveLength(64);
    expect(exported(book.at(NOON_MS + DAY_MS).previous)).toBe(today);
  });
});
