/** How gateways agree on salts and on the kept secret, and what they do when the vault has lost them. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DAY_MS } from '../../../../../src/gateway/core/identity/salts.ts';
import { SaltBooks } from '../../../../../src/gateway/stores/salts/salt-sources.ts';
import { NOON_MS } from '../../../../support/requests.ts';
import { TestSaltVault } from '../../../../support/salt-vault.ts';

// Time passes only while a gateway waits for others.
vi.mock('node:timers/promises', () => ({
  setTimeout: async (ms: number) => void vi.advanceTimersByTime(ms),
}));
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

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
  const old = new SaltBooks(vault);
  await old.refresh(NOON_MS);
  const before = [keptOf(old), todayOf(old)];
  vault.salts.clear();
  const started = new SaltBooks(vault);
  vault.onAsked = async () => {
    expect(started.isAgreeing).toBe(true);
    expect(vault.salts.size).toBe(0);
    await Promise.all([old.restore(NOON_MS), started.restore(NOON_MS)]);
  };
  await started.refresh(NOON_MS);
  expect([keptOf(started), todayOf(started)]).toEqual(before);
  expect(started.isAgreeing).toBe(false);
});

test.each(['kept', '1d:2026-11-21', '1d:2026-11-22', '31d:', '31d:last'])(
  'a gateway that starts proposes no other salt for one that Redis lost: %s',
  async (lost) => {
    const vault = new TestSaltVault();
    const old = new SaltBooks(vault);
    await old.refresh(NOON_MS);
    const before = new Map(vault.salts);
    const long = [...before.keys()].filter((name) => name.startsWith('31d:'));
    const name = lost.startsWith('31d:') ? long.at(lost === '31d:' ? 0 : -1) : lost;
    expect(vault.salts.delete(name ?? '')).toBe(true);
    vault.onAsked = () => old.restore(NOON_MS);
    await new SaltBooks(vault).refresh(NOON_MS);
    expect(vault.salts).toEqual(before);
  },
);

test('a gateway that has agreed asks nobody when a day begins', async () => {
  const vault = new TestSaltVault();
  const salts = new SaltBooks(vault);
  await salts.refresh(NOON_MS);
  vault.asked = 0;
  await salts.refresh(NOON_MS + DAY_MS);
  expect(vault.asked).toBe(0);
});

test('a gateway proposes salts if no other writes any back', async () => {
  const vault = new TestSaltVault();
  const salts = new SaltBooks(vault);
  const provisional = keptOf(salts);
  await salts.refresh(NOON_MS);
  expect(vault.asked).toBe(1);
  expect(vault.salts.get('kept')?.toString('hex')).toBe(provisional);
});

test('a gateway that has agreed on salts asks nobody, and writes back what the vault lost', async () => {
  const vault = new TestSaltVault();
  const salts = new SaltBooks(vault);
  await salts.refresh(NOON_MS);
  const before = new Map(vault.salts);
  vault.salts.clear();
  await salts.refresh(NOON_MS + 1);
  expect(vault.salts).toEqual(before);
  expect(vault.asked).toBe(1);
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
  vault.onAsked = async () => {
    if (vault.asked === 1) throw new Error('the connection broke');
  };
  const salts = new SaltBooks(vault);
  await expect(salts.refresh(NOON_MS)).rejects.toThrow('broke');
  expect(salts.isAgreeing).toBe(false);
  expect(vault.salts.size).toBe(0);
  await salts.refresh(NOON_MS);
  expect(vault.asked).toBe(2);
  expect(vault.salts.has('kept')).toBe(true);
});

test('salts are provisional from the first look until the gateway has agreed on them', async () => {
  const vault = new TestSaltVault();
  const salts = new SaltBooks(vault);
  const first = salts.refresh(NOON_MS);
  expect(salts.isAgreeing).toBe(true);
  await first;
  const second = salts.refresh(NOON_MS);
  expect(salts.isAgreeing).toBe(false);
  await second;
});

test('a gateway whose account may not read salts goes on with its own', async () => {
  const vault = new TestSaltVault();
  vault.get = async () => {
    throw Object.assign(new Error('NOPERM no permissions'), { name: 'ReplyError' });
  };
  const salts = new SaltBooks(vault);
  await expect(salts.refresh(NOON_MS)).rejects.toThrow('NOPERM');
  const again = salts.refresh(NOON_MS);
  expect(salts.isAgreeing).toBe(false);
  await again.catch(() => {});
});

test('a vault that takes no salt is waited for once', async () => {
  const vault = new TestSaltVault();
  vault.agree = async () => {
    throw new Error('OOM');
  };
  const salts = new SaltBooks(vault);
  for (let i = 0; i < 3; i++) await expect(salts.refresh(NOON_MS)).rejects.toThrow('OOM');
  expect(vault.asked).toBe(1);
});
