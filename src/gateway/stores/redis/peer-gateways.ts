/**
 * Sends a query to every gateway on this Redis and collects the answers that arrive in time. Other programs may publish
 * to these channels too, so the work and memory for queries and answers are bounded.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Allowance, QUERIES_CHANNEL } from './channels.ts';
import type { RedisClient } from './client.ts';

const WITHIN_MS = 500;
/** More than operators and their dashboards need. */
const ANSWERS_PER_SECOND = 50;
/** Of all answers to one query: their characters, and their number. */
const MOST_CHARACTERS = 8 * 1_048_576;
const MOST_ANSWERS = 1_000;
/** Characters of an id or a channel. */
const LONGEST_NAME = 128;

export interface PeerGatewaysOptions {
  readonly client: RedisClient;
  /** The number of the database. Redis has one set of channels for all of them. */
  readonly database: number;
  /** The known number of gateways, including this one. */
  readonly count: () => number;
  /** This gateway's answer to a query. */
  readonly answer: (query: unknown) => Promise<unknown>;
}

export interface QueryReplies {
  readonly answers: readonly unknown[];
  /** The number of gateways that should have answered. */
  readonly asked: number;
}

interface Pending {
  readonly answers: unknown[];
  /** Total length of the messages. */
  characters: number;
  readonly onAnswer: () => void;
}

/** The message of a query. Its field `question` is part of the wire format. */
interface QueryMessage {
  readonly id: string;
  readonly replyTo: string;
  readonly question: unknown;
}

interface AnswerMessage {
  readonly id: string;
  readonly answer: unknown;
}

export class PeerGateways {
  readonly #options: PeerGatewaysOptions;
  readonly #queries: string;
  readonly #replyTo: string;
  readonly #pending = new Map<string, Pending>();
  readonly #allowance = new Allowance(ANSWERS_PER_SECOND);

  constructor(options: PeerGatewaysOptions) {
    const { database } = options;
    this.#options = options;
    this.#queries = database === 0 ? QUERIES_CHANNEL : `${QUERIES_CHANNEL}@${database}`;
    this.#replyTo = `${this.#queries}:${randomUUID()}`;
  }

  /** The channels to subscribe to. */
  get channels(): readonly string[] {
    return [this.#queries, this.#replyTo];
  }

  /** Never rejects: a gateway that cannot be reached is missing from the answers. */
  async ask(query: unknown): Promise<QueryReplies> {
    const { client, count, answer } = this.#options;
    const id = randomUUID();
    const answers = [await answer(query)];
    const message: QueryMessage = { id, replyTo: this.#replyTo, question: query };
    // Until Redis says how many gateways received the query, all answers that may come are waited for.
    let asked = Number.POSITIVE_INFINITY;
    const complete = new Promise<void>((resolve) => {
      const onAnswer = () => answers.length >= asked && resolve();
      this.#pending.set(id, { answers, characters: 0, onAnswer });
      void this.#receiversOf(client.publish(this.#queries, JSON.stringify(message))).then(
        (receivers) => {
          asked = Math.max(1, count(), receivers);
          onAnswer();
        },
      );
    });
    await Promise.race([complete, sleep(WITHIN_MS, undefined, { ref: false })]);
    this.#pending.delete(id);
    return { answers, asked: Math.max(answers.length, Number.isFinite(asked) ? asked : count()) };
  }

  /** Answers the query of another gateway, or accepts its answer. Ignores all other messages. */
  async onMessage(channel: string, message: string): Promise<void> {
    try {
      if (channel === this.#queries) await this.#answer(message);
      else if (channel === this.#replyTo && this.#pending.size > 0) this.#take(message);
    } catch {
      // Not a message of a gateway, or the reply could not be sent. The other gateway waits a limited time only.
    }
  }

  async #answer(message: string): Promise<void> {
    if (!this.#allowance.take()) return;
    const { id, replyTo, question }: QueryMessage = JSON.parse(message);
    if (!isName(id) || !isName(replyTo) || !replyTo.startsWith(`${this.#queries}:`)) return;
    if (replyTo === this.#replyTo) return;
    const reply: AnswerMessage = { id, answer: await this.#options.answer(question) };
    await this.#options.client.publish(replyTo, JSON.stringify(reply));
  }

  #take(message: string): void {
    const { id, answer }: AnswerMessage = JSON.parse(message);
    const pending = this.#pending.get(id);
    if (pending === undefined || pending.answers.length === MOST_ANSWERS) return;
    pending.characters += message.length;
    if (pending.characters > MOST_CHARACTERS) return;
    pending.answers.push(answer);
    pending.onAnswer();
  }

  /** How many gateways received a message. In a cluster, only those connected to the same node are counted. */
  async #receiversOf(published: Promise<number>): Promise<number> {
    try {
      return await published;
    } catch {
      return 0;
    }
  }
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= LONGEST_NAME;
}
