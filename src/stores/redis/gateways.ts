/** Asks every gateway on this Redis a question that each answers for itself, and gathers what comes in time. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { QUESTIONS_CHANNEL } from './channels.ts';
import type { RedisClient } from './client.ts';

const WITHIN_MS = 500;

export interface GatewaysOptions {
  readonly client: RedisClient;
  /** How many there are, this one included, as far as is known. */
  readonly count: () => number;
  /** What this gateway says to a question. */
  readonly answer: (question: unknown) => Promise<unknown>;
}

export interface Gathered {
  readonly answers: readonly unknown[];
  /** Gateways that should have answered. */
  readonly asked: number;
}

interface Pending {
  readonly answers: unknown[];
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

export class Gateways {
  readonly #options: GatewaysOptions;
  readonly #name = randomUUID();
  readonly #pending = new Map<string, Pending>();

  constructor(options: GatewaysOptions) {
    this.#options = options;
  }

  /** To be listened to. */
  get channels(): readonly string[] {
    return [QUESTIONS_CHANNEL, this.#replyTo];
  }

  /** Never rejects: who cannot be asked has not answered. */
  async ask(question: unknown): Promise<Gathered> {
    const { client, count, answer } = this.#options;
    const id = randomUUID();
    const answers = [await answer(question)];
    const call: Question = { id, replyTo: this.#replyTo, question };
    // Nobody is waited for whom nobody knows of yet, until it is known how many have heard the question.
    let asked = Number.POSITIVE_INFINITY;
    const complete = new Promise<void>((resolve) => {
      const onAnswer = () => answers.length >= asked && resolve();
      this.#pending.set(id, { answers, onAnswer });
      void this.#heardBy(client.publish(QUESTIONS_CHANNEL, JSON.stringify(call))).then((heard) => {
        asked = Math.max(1, count(), heard);
        onAnswer();
      });
    });
    await Promise.race([complete, sleep(WITHIN_MS, undefined, { ref: false })]);
    this.#pending.delete(id);
    return { answers, asked: Math.max(answers.length, Number.isFinite(asked) ? asked : count()) };
  }

  /** Answers a question of another gateway, or takes its answer. What is neither, or cannot be answered, is left. */
  async onMessage(channel: string, message: string): Promise<void> {
    try {
      const said: Question | Reply = JSON.parse(message);
      if (channel === QUESTIONS_CHANNEL && 'question' in said) await this.#answer(said);
      if (channel === this.#replyTo && 'answer' in said) {
        const pending = this.#pending.get(said.id);
        pending?.answers.push(said.answer);
        pending?.onAnswer();
      }
    } catch {
      // Who asks waits no longer than it waits for anybody.
    }
  }

  async #answer({ id, replyTo, question }: Question): Promise<void> {
    if (replyTo === this.#replyTo || !replyTo.startsWith(QUESTIONS_CHANNEL)) return;
    const reply: Reply = { id, answer: await this.#options.answer(question) };
    await this.#options.client.publish(replyTo, JSON.stringify(reply));
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
    return `${QUESTIONS_CHANNEL}:${this.#name}`;
  }
}
