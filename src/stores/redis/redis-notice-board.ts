/** The board that all gateways on one Redis share: it is there when they start again, and tells them when it changes. */
import { readFileSync } from 'node:fs';
import { BoardFull, MAX_NOTICES, type Notice, type NoticeBoard } from '../notice-board.ts';
import { NOTICES_CHANNEL } from './channels.ts';
import type { RedisClient } from './client.ts';
import { withDeadline } from './deadline.ts';
import { storeErrorFrom } from './errors.ts';

export const NOTICE_SCRIPT = readFileSync(
  new URL('../../../lua/notice.lua', import.meta.url),
  'utf8',
);
const KEY = 'hg:v1:notices';
const TOO_MANY = -1;

export interface RedisNoticeBoardOptions {
  readonly client: RedisClient;
  readonly deadlineMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Rejects with a StoreError when Redis does not do as it is asked. */
export class RedisNoticeBoard implements NoticeBoard {
  readonly #options: RedisNoticeBoardOptions;

  constructor(options: RedisNoticeBoardOptions) {
    this.#options = options;
  }

  async read(): Promise<readonly Notice[]> {
    const found = await this.#inTime(this.#options.client.hgetall(KEY));
    return Object.entries(found).map(([about, value]) => {
      const space = value.indexOf(' ');
      return { about, untilMs: Number(value.slice(0, space)), text: value.slice(space + 1) };
    });
  }

  async putUp({ about, untilMs, text }: Notice): Promise<void> {
    if ((await this.#run(about, `${untilMs} ${text}`)) === TOO_MANY) throw new BoardFull();
  }

  async takeDown(about: string): Promise<boolean> {
    return (await this.#run(about, '')) === 1;
  }

  #run(about: string, value: string): Promise<unknown> {
    const { client, now } = this.#options;
    const values = [NOTICES_CHANNEL, Math.floor(now()), about, value, MAX_NOTICES];
    return this.#inTime(client.eval(NOTICE_SCRIPT, 1, KEY, ...values));
  }

  async #inTime<T>(answer: Promise<T>): Promise<T> {
    try {
      return await withDeadline(answer, this.#options.deadlineMs);
    } catch (cause) {
      throw storeErrorFrom(cause);
    }
  }
}
