/** The other gateways on this Redis: how many there are, and what they reply to queries. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { StoreError } from '../../core/counting/store.ts';
import type { GatewayRank } from '../local-share.ts';
import { allowance, QUERIES_CHANNEL } from './channels.ts';
import type { RedisClient } from './client.ts';
import { callRedis, type Sender } from './counting-connection.ts';
import { readLuaScript } from './lua-script.ts';

export const REPLICAS_SCRIPT = readLuaScript('replicas');
const REPLICAS_KEY = 'hg:v1:replicas';

export const HEARTBEAT_MS = 2_000;
/** A gateway counts as alive for this time after a heartbeat: two may be lost. */
const LIFETIME_MS = 3 * HEARTBEAT_MS + HEARTBEAT_MS / 2;
/** After Redis was down, every gateway that has reconnected has sent a heartbeat within this time. */
const SETTLED_AFTER_MS = HEARTBEAT_MS + 1_000;

export async function countGateways(client: RedisClient): Promise<number> {
  const [[seconds = 0], reports] = await Promise.all([client.time(), client.hgetall(REPLICAS_KEY)]);
  const nowMs = Number(seconds) * 1_000;
  const isAlive = (ms: string) => Math.abs(nowMs - Number(ms)) <= LIFETIME_MS;
  return Object.values(reports).filter(isAlive).length;
}

interface ReplicasOptions {
  /** That over which requests are counted: a heartbeat notices that the server is gone or became a replica. */
  readonly connection: Sender;
  /** The minimum number of gateways, and this gateway's rank, until heartbeats say otherwise. */
  readonly assumed: GatewayRank;
  readonly now: () => number;
}

export type Replicas = ReturnType<typeof createReplicas>;

export function createReplicas({ connection, assumed, now }: ReplicasOptions) {
  const name = randomUUID();
  const keysAndValues = [REPLICAS_KEY, name, LIFETIME_MS];
  let names: readonly string[] = [name];
  let inTouchSinceMs = now();
  let least = assumed.count;
  return {
    /** The last known place. While Redis is down, it does not change. */
    place(): GatewayRank {
      if (names.length < least) return { count: least, rank: assumed.rank };
      return { count: names.length, rank: names.indexOf(name) };
    },
    /** Call after Redis was down: it may have lost gateways that have not reconnected yet. */
    lostTouch(): void {
      inTouchSinceMs = now();
    },
    /** Sends a heartbeat. Rejects if Redis does not answer, or with anything but a list that begins with this gateway. */
    async beat(): Promise<void> {
      const reply = await callRedis(connection, 'eval', REPLICAS_SCRIPT, 1, ...keysAndValues);
      // A reply to another command must not change the shares of the limits.
      if (!Array.isArray(reply) || reply[0] !== name) {
        throw new StoreError('malformed', 'Redis did not reply with the list of gateways');
      }
      const isSettled = now() - inTouchSinceMs >= SETTLED_AFTER_MS;
      if (isSettled) least = 1;
      // New gateways count at once; missing ones are dropped only after Redis has been up for a while. A share that is
      // too small admits no request too many.
      const before = isSettled ? [] : names;
      names = [...new Set([...before, ...reply.map(String), name])].sort();
    },
  };
}

const WITHIN_MS = 500;
/** Operators and their dashboards need fewer. */
const REPLIES_PER_SECOND = 50;
const MOST_CHARACTERS = 8 * 1_048_576;
const MOST_REPLIES = 1_000;
const LONGEST_NAME = 128;

interface PeerGatewaysOptions {
  readonly client: RedisClient;
  /** The number of the database. Redis has one set of channels for all of them. */
  readonly database: number;
  readonly count: () => number;
  readonly replyTo: (query: unknown) => Promise<unknown>;
}

export interface QueryReplies {
  readonly replies: readonly unknown[];
  /** How many gateways were queried. */
  readonly queried: number;
}

interface Pending {
  readonly replies: unknown[];
  characters: number;
  readonly onReply: () => void;
}

/** `question` and `answer` are part of the wire format. */
interface QueryMessage {
  readonly id: string;
  readonly replyTo: string;
  readonly question: unknown;
}

interface ReplyMessage {
  readonly id: string;
  readonly answer: unknown;
}

/**
 * Sends a query to every gateway on this Redis and collects the replies that arrive in time. Other programs may publish to
 * these channels too, so the work and memory for queries and replies are bounded.
 */
export class PeerGateways {
  readonly #options: PeerGatewaysOptions;
  readonly #queries: string;
  readonly #replyTo: string;
  readonly #pending = new Map<string, Pending>();
  readonly #mayReply = allowance(REPLIES_PER_SECOND);

  constructor(options: PeerGatewaysOptions) {
    const { database } = options;
    this.#options = options;
    this.#queries = database === 0 ? QUERIES_CHANNEL : `${QUERIES_CHANNEL}@${database}`;
    this.#replyTo = `${this.#queries}:${randomUUID()}`;
  }

  get channels(): readonly string[] {
    return [this.#queries, this.#replyTo];
  }

  /** Never rejects: a gateway that cannot be reached is missing from the replies. */
  async queryAll(query: unknown): Promise<QueryReplies> {
    const { client, count, replyTo } = this.#options;
    const id = randomUUID();
    const replies = [await replyTo(query)];
    const message: QueryMessage = { id, replyTo: this.#replyTo, question: query };
    // Until Redis says how many gateways received the query, all replies that may come are waited for.
    let expected = Number.POSITIVE_INFINITY;
    const complete = new Promise<void>((resolve) => {
      const onReply = () => replies.length >= expected && resolve();
      this.#pending.set(id, { replies, characters: 0, onReply });
      const published = client.publish(this.#queries, JSON.stringify(message));
      // In a cluster, only the gateways that are connected to the same node are counted.
      void published
        .catch(() => 0)
        .then((receivers) => {
          expected = Math.max(1, count(), receivers);
          onReply();
        });
    });
    await Promise.race([complete, sleep(WITHIN_MS, undefined, { ref: false })]);
    this.#pending.delete(id);
    const known = Number.isFinite(expected) ? expected : count();
    return { replies, queried: Math.max(replies.length, known) };
  }

  /** Replies to the query of another gateway, or accepts its reply. Ignores all other messages. */
  async onMessage(channel: string, message: string): Promise<void> {
    try {
      if (channel === this.#queries) await this.#reply(message);
      else if (channel === this.#replyTo && this.#pending.size > 0) this.#take(message);
    } catch {
      // Not a message of a gateway, or the reply could not be sent. The other gateway waits a limited time only.
    }
  }

  async #reply(message: string): Promise<void> {
    if (!this.#mayReply()) return;
    const { id, replyTo, question }: QueryMessage = JSON.parse(message);
    if (!isName(id) || !isName(replyTo) || !replyTo.startsWith(`${this.#queries}:`)) return;
    if (replyTo === this.#replyTo) return;
    const reply: ReplyMessage = { id, answer: await this.#options.replyTo(question) };
    await this.#options.client.publish(replyTo, JSON.stringify(reply));
  }

  #take(message: string): void {
    const { id, answer }: ReplyMessage = JSON.parse(message);
    const pending = this.#pending.get(id);
    if (pending === undefined || pending.replies.length === MOST_REPLIES) return;
    pending.characters += message.length;
    if (pending.characters > MOST_CHARACTERS) return;
    pending.replies.push(answer);
    pending.onReply();
  }
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= LONGEST_NAME;
}
