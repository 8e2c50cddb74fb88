/**
 * A language model behind the APIs of OpenAI and Anthropic. It counts what it has produced, so that tests can compare what
 * was charged. The name of the model in a request says how it behaves:
 *
 *   plain     answers with `TOKENS` tokens, or with fewer if the request allows fewer
 *   silent    the same without its usage
 *   cut       closes the connection in the middle of its answer
 *   slow      streams each token when `next` lets it
 *   long      answers with `LONG_TOKENS` tokens
 *   slow-long both
 *   large     has a long answer, in a stream in its last event only
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { type LocalServer, listenLocally } from '../local-server.ts';
import { type Ending, type ModelApi, STREAMS, type Usage, WHOLE } from './answers.ts';

const TOKENS = 20;
export const LONG_TOKENS = 400;
const LARGE_TOKENS = 300_000;

const MOST_EVENTS = 1_000;

const APIS: Readonly<Record<string, ModelApi>> = {
  '/v1/chat/completions': 'chat',
  '/v1/responses': 'responses',
  '/v1/messages': 'messages',
};

export interface ModelAnswer {
  /** The settle token of the request. */
  readonly token: string | undefined;
  /** As the request names it. */
  readonly user: string | undefined;
  readonly input: number;
  /** Tokens that have left the server so far. */
  output: number;
  /** The end of the answer has left the server. */
  isWhole: boolean;
}

export interface ModelServer extends LocalServer {
  /** One for each request, in order. */
  readonly answers: ModelAnswer[];
  /** Lets each slow stream send so many more tokens. */
  next(tokens: number): void;
}

export interface ModelServerOptions {
  /** Called when an answer has ended, however it has. Units are undefined if it had no usage. */
  readonly onEnd?: (answer: ModelAnswer, tokens: number | undefined) => void;
  /** Answers requests of other paths, in place of a 404. */
  readonly others?: (request: IncomingMessage, response: ServerResponse) => void;
}

interface ModelRequest {
  readonly model?: string;
  readonly user?: string;
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly max_tokens?: number;
  readonly max_completion_tokens?: number;
  readonly max_output_tokens?: number;
  readonly messages?: unknown;
  readonly input?: unknown;
}

interface Exchange {
  readonly api: ModelApi;
  readonly request: ModelRequest;
  readonly response: ServerResponse;
  readonly answer: ModelAnswer;
}

export async function startModelServer({
  onEnd = () => {},
  others = (_, response) => void response.writeHead(404).end(),
}: ModelServerOptions = {}): Promise<ModelServer> {
  const answers: ModelAnswer[] = [];
  const pace = new Pace();
  const server = createServer(async (message, response) => {
    const exchange = await exchangeOf(message, response);
    if (exchange === undefined) {
      others(message, response);
      return;
    }
    const { answer, request } = exchange;
    answers.push(answer);
    response.on('close', () => onEnd(answer, reported(exchange)));
    if (request.stream === true) await stream(exchange, pace);
    else whole(exchange);
  });
  server.keepAliveTimeout = 3_600_000;
  const listening = await listenLocally(server);
  return { ...listening, answers, next: (tokens) => pace.next(tokens) };
}

/** Lets slow streams go on. Others never wait. */
class Pace {
  #allowed = 0;
  #waiting: (() => void)[] = [];

  next(tokens: number): void {
    this.#allowed += tokens;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const each of waiting) each();
  }

  async allows(token: number): Promise<void> {
    while (token >= this.#allowed) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }
}

async function exchangeOf(
  message: IncomingMessage,
  response: ServerResponse,
): Promise<Exchange | undefined> {
  const api = APIS[message.url ?? ''];
  if (api === undefined) return undefined;
  const request = (await json(message)) as ModelRequest;
  const token = message.headers['x-headgate-settle'];
  const answer: ModelAnswer = {
    token: typeof token === 'string' ? token : undefined,
    user: request.user,
    input: JSON.stringify(request.messages ?? request.input ?? '').split(/\s+/).length,
    output: 0,
    isWhole: false,
  };
  return { api, request, response, answer };
}

function allowedTokens({ max_tokens, max_completion_tokens, max_output_tokens }: ModelRequest) {
  return max_completion_tokens ?? max_output_tokens ?? max_tokens ?? Infinity;
}

const LENGTHS: Readonly<Record<string, number>> = {
  large: LARGE_TOKENS,
  long: LONG_TOKENS,
  'slow-long': LONG_TOKENS,
};

function endingOf({ api, request, answer: { input } }: Exchange): Ending {
  const wanted = LENGTHS[request.model ?? ''] ?? TOKENS;
  const output = Math.min(wanted, allowedTokens(request));
  // A stream of chat completions has its usage only if the client asks for it.
  const isAsked =
    api !== 'chat' || request.stream !== true || request.stream_options?.include_usage === true;
  return {
    usage: { input, output },
    isIncomplete: output < wanted,
    hasUsage: request.model !== 'silent' && isAsked,
  };
}

/** What an application reads from the answer that it has passed on. */
function reported(exchange: Exchange): number | undefined {
  const { hasUsage } = endingOf(exchange);
  const { isWhole, input, output } = exchange.answer;
  return isWhole && hasUsage ? input + output : undefined;
}

function whole(exchange: Exchange): void {
  const { api, request, response, answer } = exchange;
  const ending = endingOf(exchange);
  const body = JSON.stringify(WHOLE[api](ending));
  response.writeHead(200, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  });
  answer.output = ending.usage.output;
  if (request.model === 'cut') {
    response.write(body.slice(0, body.length / 2), () => response.destroy());
    return;
  }
  answer.isWhole = true;
  response.end(body);
}

async function stream(exchange: Exchange, pace: Pace): Promise<void> {
  const { api, request, response, answer } = exchange;
  const ending = endingOf(exchange);
  const { output } = ending.usage;
  const events = STREAMS[api];
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  for (const event of events.start(ending.usage)) await send(response, event);
  const sent = request.model === 'cut' ? Math.floor(output / 2) : Math.min(output, MOST_EVENTS);
  for (let i = 0; i < sent && !response.destroyed; i++) {
    // Tokens come one by one, so that a stream can be cut between them.
    await (request.model?.startsWith('slow') ? pace.allows(i) : setImmediate());
    if (response.destroyed) break;
    await send(response, events.token(i));
    answer.output++;
  }
  if (request.model === 'cut') response.destroy();
  if (response.destroyed) return;
  answer.output = output;
  answer.isWhole = true;
  for (const event of events.end(ending)) await send(response, event);
  response.end();
}

/** Resolves when the connection takes more, or has ended. */
async function send(response: ServerResponse, event: string): Promise<void> {
  if (response.destroyed || response.write(event)) return;
  await Promise.race([once(response, 'drain'), once(response, 'close')]);
}

/** What the answer has cost so far, in tokens. */
export function produced({ input, output }: Pick<ModelAnswer, keyof Usage>): number {
  return input + output;
}
