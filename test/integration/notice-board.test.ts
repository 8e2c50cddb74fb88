/** The board on a real Redis, read by gateways whose clocks differ. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BoardFull, MAX_NOTICES, type Notice } from '../../src/stores/notice-board.ts';
import type { RedisClient } from '../../src/stores/redis/client.ts';
import { RedisNoticeBoard } from '../../src/stores/redis/redis-notice-board.ts';
import { redisIsHere, startRedis, type TestRedis } from '../support/redis.ts';
import { connectClient } from '../support/stores.ts';

const MINUTE_MS = 60_000;

describe.skipIf(!redisIsHere)('the board of notices', () => {
  let redis: TestRedis;
  let client: RedisClient;

  beforeAll(async () => {
    redis = await startRedis();
    client = await connectClient(redis.url);
  });
  afterAll(async () => {
    client?.disconnect();
    await redis?.[Symbol.asyncDispose]();
  });

  /** Of a gateway whose clock is ahead so much. */
  function boardOf(aheadMs = 0) {
    const now = () => Date.now() + aheadMs;
    const board = new RedisNoticeBoard({ client, deadlineMs: 1_000, now });
    const notice = (about: string, forMs: number): Notice => ({
      about,
      untilMs: now() + forMs,
      text: `text of ${about}`,
    });
    const leftOf = async (about: string) => {
      const found = (await board.read()).find((each) => each.about === about && each.text !== '');
      return found && Math.round((found.untilMs - now()) / MINUTE_MS);
    };
    return { board, notice, leftOf };
  }

  test.each([15, -15])(
    'ends for all at once, though a clock is %i minutes off',
    async (minutes) => {
      await client.flushall();
      const [own, off] = [boardOf(), boardOf(minutes * MINUTE_MS)];
      await own.board.putUp(own.notice('a', 10 * MINUTE_MS));
      await off.board.putUp(off.notice('b', 10 * MINUTE_MS));
      for (const { leftOf } of [own, off]) {
        expect([await leftOf('a'), await leftOf('b')]).toEqual([10, 10]);
      }
      expect(Math.round((await client.pttl('hg:v1:notices')) / MINUTE_MS)).toBe(10);
    },
  );

  test('is read the same until something changes', async () => {
    await client.flushall();
    const { board, notice } = boardOf(90_000);
    await board.putUp(notice('a', MINUTE_MS));
    const first = await board.read();
    for (let i = 0; i < 20; i++) expect(await board.read()).toEqual(first);
  });

  test('takes back what it has lost, and neither what was taken down nor what is newer', async () => {
    await client.flushall();
    const { board, notice } = boardOf();
    const [a, b, c] = ['a', 'b', 'c'].map((about) => notice(about, MINUTE_MS)) as [
      Notice,
      Notice,
      Notice,
    ];
    await board.putUp(a);
    await board.putUp({ ...b, text: 'newer' });
    expect(await board.takeDown('a')).toBe(true);
    expect(await board.takeDown('a')).toBe(false);
    await board.putBack([a, b, c]);
    const texts = new Map((await board.read()).map(({ about, text }) => [about, text]));
    expect(texts).toEqual(
      new Map([
        ['a', ''],
        ['b', 'newer'],
        ['c', 'text of c'],
      ]),
    );
  });

  test('holds so many and no more', async () => {
    await client.flushall();
    const { board, notice } = boardOf();
    const many = Array.from({ length: MAX_NOTICES }, (_, i) => notice(`n${i}`, MINUTE_MS));
    await board.putBack(many);
    await expect(board.putUp(notice('one more', MINUTE_MS))).rejects.toThrow(BoardFull);
    await board.putUp(notice('n7', 2 * MINUTE_MS));
    expect(await board.takeDown('n8')).toBe(true);
    await board.putUp(notice('one more', MINUTE_MS));
  });
});
