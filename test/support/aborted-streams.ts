/** Clients that hang up on streams of a language model at random moments, and what they were charged. */
import { Agent, request } from 'node:http';
import {
  ASKED,
  CHAT,
  type ChargedApplication,
  TOKEN_LIMIT,
  UNKNOWN,
} from './charged-application.ts';
import { LONG_TOKENS, produced } from './model/model-server.ts';
import { Random } from './random.ts';

/** Tokens of one stream. */
export interface AbortedStream {
  readonly charged: number;
  /** What the model had sent when it noticed. */
  readonly produced: number;
  /** What the answer would have taken in the end. */
  readonly whole: number;
  readonly isWhole: boolean;
}

export interface Aborting {
  readonly streams: number;
  readonly seed: number;
}

const AT_THE_SAME_TIME = 20;
/** An event of the model has at least so many bytes. */
const EVENT_BYTES = 100;

/** Each stream has its own client. */
export async function abortStreams(
  application: ChargedApplication,
  { streams, seed }: Aborting,
): Promise<AbortedStream[]> {
  const random = new Random(seed);
  const before = application.model.answers.length;
  const clients = Array.from({ length: streams }, (_, i) => ({
    address: `127.${1 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`,
    tokens: 1 + random.below(LONG_TOKENS),
    share: random.next(),
  }));
  for (let i = 0; i < clients.length; i += AT_THE_SAME_TIME) {
    const some = clients.slice(i, i + AT_THE_SAME_TIME);
    await Promise.all(some.map((each) => abort(application.url, each)));
  }
  await application.settled(streams);
  const answers = new Map(
    application.model.answers.slice(before).map((answer) => [answer.user, answer]),
  );
  return Promise.all(
    clients.map(async ({ address, tokens }) => {
      const answer = answers.get(address);
      if (answer === undefined) throw new Error(`${address} did not reach the model`);
      const { input, isWhole } = answer;
      const charged = await application.charged(address, CHAT, TOKEN_LIMIT);
      const whole = produced({ input, output: tokens });
      return { charged, produced: produced(answer), whole, isWhole };
    }),
  );
}

/** Says which streams were charged less than the model had produced, or neither the whole answer nor `unknown`. */
export function wrongCharges(streams: readonly AbortedStream[]): string[] {
  return streams
    .filter(
      ({ charged, whole, ...stream }) =>
        charged < stream.produced ||
        (charged !== UNKNOWN && !(stream.isWhole && charged === whole)),
    )
    .map((stream) => JSON.stringify(stream));
}

interface Client {
  readonly address: string;
  /** The most that its answer may have. */
  readonly tokens: number;
  /** After which share of the answer it hangs up, 0 to 1. */
  readonly share: number;
}

/** Hangs up once the stream has begun and so much of it has come, or at its end. */
async function abort(url: string, { address, tokens, share }: Client): Promise<void> {
  const { hostname, port } = new URL(url);
  const headers = { 'Content-Type': 'application/json' };
  const agent = new Agent({ localAddress: address });
  const sent = request({ hostname, port, path: CHAT, method: 'POST', headers, agent });
  const bytes = share * tokens * EVENT_BYTES;
  await new Promise<void>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', (response) => {
      let received = 0;
      response.on('error', () => {});
      response.on('close', resolve);
      response.on('data', (chunk: Buffer) => {
        received += chunk.length;
        if (received >= bytes) response.destroy();
      });
    });
    sent.end(
      JSON.stringify({
        ...{ messages: ASKED, model: 'long', user: address, max_tokens: tokens },
        ...{ stream: true, stream_options: { include_usage: true } },
      }),
    );
  });
}
