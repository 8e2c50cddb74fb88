/** Compares what a new master has with what clients saw. */
import { hash } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { GatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';
import { stampOf } from '../exactness/judge.ts';
import { any } from './reporting.ts';

export interface FailoverRun {
  readonly reservations: number;
  readonly settlements: number;
  /** Reservations and settlements that clients saw, and the new master does not have. */
  readonly lostReservations: number;
  readonly lostSettlements: number;
  /** Reservations that the new master has, and no client saw. */
  readonly unseen: number;
  /** Units that the new master has less (or more) than what clients saw. */
  readonly difference: number;
  /** The part of the difference that the above does not explain. */
  readonly unexplained: number;
  readonly wrong: readonly string[];
}

const RESERVED = 50;
/** As long as windows are, so that none ends meanwhile. */
const WINDOW = '31d';
const WINDOW_MS = 31 * 86_400_000;
export interface Reserved {
  readonly text: string;
  readonly id: string;
  readonly momentMs: number;
  used: number;
  isSettled: boolean;
}

export interface Client {
  readonly id: string;
  readonly partition: string;
  readonly seen: Reserved[];
}

export function policyFile(clients: readonly Client[]): string {
  const keys = clients.map(({ id }) => ({ id, sha256: hash('sha256', `the key of ${id}`) }));
  const rate = (limit: number) => `${limit}/${WINDOW}`;
  const tokens = { unit: 'tokens', reserve: RESERVED, unknown: 80 };
  return JSON.stringify({
    version: 1,
    identity: { api_key: { keys } },
    default: {
      limits: [
        { rate: rate(1_000_000_000), algorithm: 'fixed-window', ...tokens },
        { rate: rate(800_000), algorithm: 'sliding-window-counter', ...tokens },
        rate(1_000_000),
      ],
      on_store_failure: 'deny',
    },
    policies: [],
  });
}

export async function settle({ text, used }: Reserved, { url }: GatewayProcess): Promise<string> {
  const { body } = await call(url, '/settle', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: text, units: { tokens: used } }),
  });
  return String((JSON.parse(body) as { result?: string }).result);
}

export async function compare(
  clients: readonly Client[],
  gateways: readonly GatewayProcess[],
  redis: Redis,
): Promise<FailoverRun> {
  const sums = {
    reservations: 0,
    settlements: 0,
    lostReservations: 0,
    lostSettlements: 0,
    unseen: 0,
  };
  const wrong: string[] = [];
  let difference = 0;
  for (const { partition, seen } of clients) {
    const tag = `hg:v1:{${partition}}`;
    const settled = seen.filter(({ isSettled }) => isSettled);
    const lost = [];
    for (const each of settled) {
      if ((await redis.exists(`${tag}:settled:${each.id}`)) === 0) lost.push(each);
    }
    // A client that does not know may send its report again.
    for (const each of lost) {
      const verdict = await settle(each, any(gateways));
      if (verdict !== 'settled') wrong.push(`a lost settlement was answered ${verdict}`);
    }
    const entries = await redis.lrange(`${tag}:default:client.${WINDOW_MS}`, 0, -1);
    const inRedis = entries.map((entry) => stampOf(Number(entry), Date.now()));
    const unmatched = [...inRedis];
    const lostHere = seen.filter(({ momentMs }) => {
      const place = unmatched.indexOf(momentMs);
      if (place !== -1) unmatched.splice(place, 1);
      return place === -1;
    });
    const corrections = settled.reduce((sum, { used }) => sum + used - RESERVED, 0);
    const fixed = await redis.get(`${tag}:default:client.${WINDOW_MS}.fixed.tokens`);
    const counter = await redis.get(`${tag}:default:client.${WINDOW_MS}.counter.tokens`);
    const counts = [fixed, counter].map((value) => Number(value?.split(' ')[1]));
    const expected = RESERVED * inRedis.length + corrections;
    for (const count of counts) {
      if (count !== expected) wrong.push(`${partition} has ${count} units in place of ${expected}`);
    }
    const told = RESERVED * seen.length + corrections;
    difference += (counts[0] ?? Number.NaN) - told;
    sums.reservations += seen.length;
    sums.settlements += settled.length;
    sums.lostReservations += lostHere.length;
    sums.lostSettlements += lost.length;
    sums.unseen += unmatched.length;
  }
  const unexplained = difference - RESERVED * (sums.unseen - sums.lostReservations);
  if (unexplained !== 0) wrong.push(`counts differ by ${unexplained} units that no loss explains`);
  return { ...sums, difference, unexplained, wrong };
}
