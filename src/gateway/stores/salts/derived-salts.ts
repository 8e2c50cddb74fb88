/**
 * Derives salts from a secret. Gateways with the same secret have the same salts without communication, but anyone who has
 * the secret can compute the salts of any day.
 */
import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import {
  DAY_MS,
  LONG_PERIOD_MS,
  type PeriodSalts,
  periodStart,
  SALT_BYTES,
  type SaltSource,
  type Salts,
} from '../../core/identity/salts.ts';

export class DerivedSalts implements SaltSource {
  readonly #secret: KeyObject;
  readonly #kept: KeyObject;
  #current: Salts | undefined;

  constructor(secret: string) {
    this.#secret = createSecretKey(secret, 'utf8');
    this.#kept = this.#derive('headgate kept secret');
  }

  at(nowMs: number, hasLongWindows: boolean): Salts {
    const known = this.#current;
    const isCurrent =
      known !== undefined &&
      known.daily.startMs === periodStart(nowMs, DAY_MS) &&
      known.long?.startMs === (hasLongWindows ? periodStart(nowMs, LONG_PERIOD_MS) : undefined);
    if (isCurrent) return known;
    this.#current = {
      kept: this.#kept,
      daily: this.#of(nowMs, DAY_MS),
      long: hasLongWindows ? this.#of(nowMs, LONG_PERIOD_MS) : undefined,
    };
    return this.#current;
  }

  /** Does nothing: derived salts need no agreement. */
  async refresh(): Promise<void> {}

  #of(nowMs: number, periodMs: number): PeriodSalts {
    const startMs = periodStart(nowMs, periodMs);
    return {
      startMs,
      current: this.#derive(addressSalt(startMs, periodMs)),
      previous: this.#derive(addressSalt(startMs - periodMs, periodMs)),
    };
  }

  /** HKDF (RFC 5869). */
  #derive(info: string): KeyObject {
    return createSecretKey(Buffer.from(hkdfSync('sha256', this.#secret, '', info, SALT_BYTES)));
  }
}

function addressSalt(startMs: number, periodMs: number): string {
  return `headgate address salt ${periodMs} ${startMs}`;
}
