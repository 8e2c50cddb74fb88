/**
 * Asks every gateway on this Redis a question that each answers for itself, and gathers what comes in time. Whoever may
 * publish there can ask and answer as well, so work and memory for it are bounded.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Allowance } from './allowance.ts';
import { QUERIES_CHANNEL } from './channels.ts';
import type { RedisClient } from './client.ts';

const WITHIN_MS = 500;
/** Operators and their dashboards ask less. */
const ANSWERS_PER_SECOND = 50;
/** Of the answers to one question, together; and how many. */
const MOST_CHARACTERS = 8 * 1_048_576;
const MOST_ANSWERS = 1_000;
/** Of an id, and of a channel. */
const LONGEST_NAME = 128;

export interface PeerGatewaysOptions {
  readonly client: RedisClient;
  /** How many there are, this one included, as far as is known. */
  readonly count: () => number;
  /** What this gateway says to a question. */
  readonly answer: (question: unknown) => Promise<unknown>;
}

export interface QueryReplies {
  readonly answers: readonly unknown[];
  /** Gateways that should have answered. */
  readonly asked: number;
}

interface Pending {
  readonly answers: unknown[];
  /** Of their messages. */
  characters: number;
  readonly onAnswer: () => void;
}

interface Question {
  readonly id: string;
  readonly replyTo: string;
  readonly question: unknown;
}

interface Reply {
  readonly id: string;
  readonly answer: unknown;
}

export class PeerGateways {
  readonly #options: PeerGatewaysOptions;
  readonly #name = randomUUID();
  readonly #pending = new Map<string, Pending>();
  readonly #allowance = new Allowance(ANSWERS_PER_SECOND);

  constructor(options: PeerGatewaysOptions) {
    this.#options = options;
  }

  /** To be listened to. */
  get channels(): readonly string[] {
    return [QUERIES_CHANNEL, this.#replyTo];
  }

  /** Never rejects: who cannot be asked has not answered. */
  async ask(question: unknown): Promise<QueryReplies> {
    const { client, count, answer } = this.#options;
    const id = randomUUID();
    const answers = [await answer(question)];
    const call: Question = { id, replyTo: this.#replyTo, question };
    // Nobody is waited for whom nobody knows of yet, until it is known how many have heard the question.
    let asked = Number.POSITIVE_INFINITY;
    const complete = new Promise<void>((resolve) => {
      const onAnswer = () => answers.length >= asked && resolve();
      this.#pending.set(id, { answers, characters: 0, onAnswer });
      void this.#heardBy(client.publish(QUERIES_CHANNEL, JSON.stringify(call))).then((heard) => {
        asked = Math.max(1, count(), heard);
        onAnswer();
      });
    });
    await Promise.race([complete, sleep(WITHIN_MS, undefined, { ref: false })]);
    this.#pending.delete(id);
    return { answers, asked: Math.max(answers.length, Number.isFinite(asked) ? asked : count()) };
  }

  /** Answers a question of another gateway, or takes its answer. Ignores everything else. */
  async onMessage(channel: string, message: string): Promise<void> {
    try {
      if (channel === QUERIES_CHANNEL) await this.#answer(message);
      else if (channel === this.#replyTo && this.#pending.size > 0) this.#take(message);
    } catch {
      // A gateway that asks waits for answers only so long.
    }
  }

  async #answer(message: string): Promise<void> {
    if (!this.#allowance.take()) return;
    const { id, replyTo, question }: Question = JSON.parse(message);
    if (!isName(id) || !isName(replyTo) || !replyTo.startsWith(`${QUERIES_CHANNEL}:`)) return;
    if (replyTo === this.#replyTo) return;
    const reply: Reply = { id, answer: await this.#options.answer(question) };
    await this.#options.client.publish(replyTo, JSON.stringify(reply));
  }

  #take(message: string): void {
    const { id, answer }: Reply = JSON.parse(message);
    const pending = this.#pending.get(id);
    if (pending === undefined || pending.answers.length === MOST_ANSWERS) return;
    pending.characters += message.length;
    if (pending.characters > MOST_CHARACTERS) return;
    pending.answers.push(answer);
    pending.onAnswer();
  }

  /** Of a cluster, by those who listen at one node of it. */
  async #heardBy(published: Promise<number>): Promise<number> {
    try {
      return await published;
    } catch {
      return 0;
    }
  }

  get #replyTo(): string {
    return `${QUERIES_CHANNEL}:${this.#name}`;
  }
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= LONGEST_NAME;
}
