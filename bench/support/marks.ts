/** What settlements and resets leave beside counters in Redis: a key each, for as long as a token lives. */
import type { Redis } from 'ioredis';
import { KEY_PREFIX } from '../../src/gateway/core/counting/descriptor.ts';
import type { Quota } from '../../src/gateway/core/counting/store.ts';
import { readLuaScript } from '../../src/gateway/stores/redis/lua-script.ts';
import { SETTLE_SCRIPT, SettleArguments } from '../../src/gateway/stores/redis/settle-script.ts';

const LIFE_MS = 900_000;
const AT_ONCE = 100;
const QUOTA: Quota = {
  algorithm: 'fixed-window',
  limit: 1_000,
  windowMs: 3_600_000,
  burst: 1_000,
  countRejected: false,
};

const keyOf = (i: number) =>
  `${KEY_PREFIX}i.${String(i).padStart(22, '0')}}:default:client.3600000.fixed.tokens`;

/** Each of another client, and each for what was reserved, so that only its mark is written. */
export async function settleMany(client: Redis, count: number): Promise<void> {
  const nowMs = Date.now();
  for (let i = 0; i < count; i += AT_ONCE) {
    const call = new SettleArguments();
    for (let j = i; j < i + AT_ONCE; j++) {
      const part = { key: keyOf(j), quota: QUOTA, momentMs: nowMs, reserved: 5, used: 5 };
      call.add({ id: String(j).padStart(16, '0'), endsMs: nowMs + LIFE_MS, parts: [part] });
    }
    const values = call.values({ ownMs: nowMs });
    await client.eval(SETTLE_SCRIPT, call.keys.length, ...call.keys, ...values);
  }
}

export async function resetMany(client: Redis, count: number): Promise<void> {
  const script = readLuaScript('reset');
  for (let i = 0; i < count; i += AT_ONCE) {
    const pipeline = client.pipeline();
    for (let j = i; j < i + AT_ONCE; j++) {
      pipeline.eval(script, 2, keyOf(j), `${keyOf(j)}:reset`, -1, LIFE_MS);
    }
    await pipeline.exec();
  }
}
