/** How gateways agree on salts and on the kept secret, and what they do when the vault has lost them. */
import { expect, test, vi } from 'vitest';
import { DAY_MS } from '../../../src/core/salts.ts';
import { SaltBooks, type SaltHolders } from '../../../src/salts/salt-books.ts';
import { NOON_MS } from '../../support/requests.ts';
import { TestSaltVault } from '../../support/salt-vault.ts';

/** `ask`: what happens when a gateway asks; resolves to whether there may be holders. */
function holders(ask: () => Promise<boolean> = async () => false) {
  return { ask: vi.fn(ask), join: vi.fn() } satisfies SaltHolders;
}

const keptOf = (salts: SaltBooks, nowMs = NOON_MS) =>
  salts.at(nowMs, false).kept.export().toString('hex');
const todayOf = (salts: SaltBooks) =>
  salts.at(NOON_MS, false).daily.current.export().toString('hex');

test('gateways on one vault keep one secret for ever, and it has no end', async () => {
  const vault = new TestSaltVault();
  const [one, two] = [new SaltBooks(vault), new SaltBooks(vault)];
  await one.refresh(NOON_MS);
  await two.refresh(NOON_MS);
  expect(keptOf(one)).toBe(keptOf(two));
  const kept = keptOf(one);
  await one.refresh(NOON_MS + 400 * DAY_MS);
  expect(keptOf(one, NOON_MS + 400 * DAY_MS)).toBe(kept);
  expect(vault.lifetimes.get('kept')).toBeUndefined();
});

test('salts have the end of their period, also when they are written back', async () => {
  const vault = new TestSaltVault();
  const salts = new SaltBooks(vault);
  await salts.refresh(NOON_MS);
  expect(vault.lifetimes.get('1d:2026-11-21')).toBe(1.5 * DAY_MS);
  vault.salts.clear();
  await salts.refresh(NOON_MS + DAY_MS);
  expect(vault.lifetimes.get('1d:2026-11-21')).toBe(0.5 * DAY_MS);
  vault.salts.clear();
  await salts.restore(NOON_MS + 2 * DAY_MS);
  expect(vault.salts.has('1d:2026-11-21')).toBe(false);
});

test('a new secret makes new salts, so that no cached name outlives it', async () => {
  const vault = new TestSaltVault();
  await new SaltBooks(vault).refresh(NOON_MS);
  const salts = new SaltBooks(vault);
  const provisional = [salts.at(NOON_MS, false), salts.at(NOON_MS, true)];
  await salts.refresh(NOON_MS);
  const agreed = [salts.at(NOON_MS, false), salts.at(NOON_MS, true)];
  for (const [i, each] of agreed.entries()) {
    expect(each).not.toBe(provisional[i]);
    expect(each.kept).not.toBe(provisional[i]?.kept);
  }
});

test('a gateway without salts asks before it proposes, and takes what is written back', async () => {
  const vault = new TestSaltVault();
  const old = new SaltBooks(vault, holders());
  await old.refresh(NOON_MS);
  const before = [keptOf(old), todayOf(old)];
  vault.salts.clear();
  const started: SaltBooks = new SaltBooks(
    vault,
    holders(async () => {
      expect(started.isAsking).toBe(true);
      expect(vault.salts.size).toBe(0);
      await old.restore(NOON_MS);
      return true;
    }),
  );
  await started.refresh(NOON_MS);
  expect([keptOf(started), todayOf(started)]).toEqual(before);
  expect(started.isAsking).toBe(false);
});

test('a gateway proposes salts if no holder writes any back', async () => {
  const vault = new TestSaltVault();
  const silent = holders(async () => true);
  const salts = new SaltBooks(vault, silent);
  const provisional = keptOf(salts);
  await salts.refresh(NOON_MS);
  expect(vault.salts.get('kept')?.toString('hex')).toBe(provisional);
  expect(silent.join).toHaveBeenCalledOnce();
});

test('a gateway that holds salts asks nobody, and writes back what the vault lost', async () => {
  const vault = new TestSaltVault();
  const others = holders();
  const salts = new SaltBooks(vault, others);
  await salts.refresh(NOON_MS);
  const before = new Map(vault.salts);
  vault.salts.clear();
  await salts.refresh(NOON_MS + 1);
  expect(vault.salts).toEqual(before);
  expect(others.ask).toHaveBeenCalledOnce();
});

test('a gateway that was away while others agreed on new salts takes the new ones', async () => {
  const vault = new TestSaltVault();
  const [old, started] = [new SaltBooks(vault), new SaltBooks(vault)];
  await old.refresh(NOON_MS);
  vault.salts.clear();
  await started.refresh(NOON_MS);
  await old.refresh(NOON_MS);
  expect([keptOf(old), todayOf(old)]).toEqual([keptOf(started), todayOf(started)]);
});

test('a gateway that cannot ask tries again, and does not propose meanwhile', async () => {
  const vault = new TestSaltVault();
  let isReachable = false;
  const others = holders(async () => {
    if (!isReachable) throw new Error('the connection broke');
    return false;
  });
  const salts = new SaltBooks(vault, others);
  await expect(salts.refresh(NOON_MS)).rejects.toThrow('broke');
  expect(salts.isAsking).toBe(false);
  expect(vault.salts.size).toBe(0);
  expect(others.join).not.toHaveBeenCalled();
  isReachable = true;
  await salts.refresh(NOON_MS);
  expect(others.ask).toHaveBeenCalledTimes(2);
  expect(vault.salts.has('kept')).toBe(true);
});

test('a vault that takes no salt is waited for once', async () => {
  const vault = new TestSaltVault();
  vault.agree = async () => {
    throw new Error('OOM');
  };
  const others = holders(async () => true);
  const salts = new SaltBooks(vault, others);
  for (let i = 0; i < 3; i++) await expect(salts.refresh(NOON_MS)).rejects.toThrow('OOM');
  expect(others.ask).toHaveBeenCalledOnce();
});
