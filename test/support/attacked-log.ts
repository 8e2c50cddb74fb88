/** A synthetic log with a path scanner at its start, attacks on most days, and other attacks on its last day. */
import type { Random } from './random.ts';
import { type Attack, DAY_MS, type SyntheticRequest, syntheticLog } from './synthetic-log.ts';

const HOUR_MS = 3_600_000;
const FITTED_DAYS = 4;
const START_MS = Date.UTC(2026, 0, 5);

const STUFFING = { method: 'POST', target: () => '/api/login', status: 401 };

const SCANNER: Attack = {
  ...{ name: 'scanner', day: 0, atMs: 0, forMs: 0.2 * HOUR_MS, requestsPerSecond: 4 },
  ...{ addresses: 1, network: 60, method: 'GET', target: wordPath, status: 404 },
};

/** A random path of one segment that no rule takes for an identifier. */
function wordPath(random: Random): string {
  return `/${Array.from({ length: 8 }, () => 'abcdefghijklmnop'[random.below(16)]).join('')}`;
}

/** One address at 20 requests a second for ten minutes; then attacks of other sizes. */
function pastAttacks(count: number): Attack[] {
  return Array.from({ length: count }, (_, i) => ({
    ...{ name: 'past attack', day: (i + 1) % FITTED_DAYS, atMs: (1 + i) * HOUR_MS },
    ...{ forMs: HOUR_MS / 6, requestsPerSecond: [20, 1, 8][i % 3] ?? 1, network: 100 + i },
    ...{ addresses: [1, 20, 4, 150][i % 4] ?? 1, isIrregular: i % 2 === 1, ...STUFFING },
  }));
}

export const HELD_OUT_ATTACKS = ['slow attack', 'fast attack', 'wide attack'] as const;

function heldOutAttacks(): Attack[] {
  const common = { day: FITTED_DAYS, ...STUFFING };
  return [
    { ...common, ...sizeOf(0, 0.1, 1), forMs: HOUR_MS },
    { ...common, ...sizeOf(1, 20, 1), forMs: HOUR_MS / 6 },
    { ...common, ...sizeOf(2, 20, 30), forMs: HOUR_MS / 6 },
  ];
}

function sizeOf(i: number, requestsPerSecond: number, addresses: number) {
  const name = HELD_OUT_ATTACKS[i] ?? '';
  return { name, atMs: (1 + 2 * i) * HOUR_MS, network: 150 + i, requestsPerSecond, addresses };
}

export interface MoreTraffic {
  /** On any day. */
  readonly attacks?: readonly Attack[];
  readonly crowd?: number;
}

export function attackedLog(
  seed: number,
  past: number,
  more: MoreTraffic = {},
): SyntheticRequest[] {
  const { attacks = [], crowd = 0 } = more;
  return [
    ...syntheticLog({
      ...{ seed, startMs: START_MS, days: FITTED_DAYS + 1, people: 220, apps: 80, offices: 2 },
      ...{ crowd, crawlers: 1, monitors: 0 },
      attacks: [SCANNER, ...pastAttacks(past), ...heldOutAttacks(), ...attacks],
    }),
  ];
}

export const HELD_OUT_FROM_MS = START_MS + FITTED_DAYS * DAY_MS;
