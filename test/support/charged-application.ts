/** An application with a login and a language model, behind a proxy and a gateway that charges afterwards. */
import { Agent, type IncomingMessage, type ServerResponse } from 'node:http';
import { eventually } from './eventually.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { call, type HttpAnswer, type HttpCall } from './http.ts';
import { LONG_TOKENS, type ModelServer, produced, startModelServer } from './model/model-server.ts';
import { freePort } from './ports.ts';
import type { Behind, RunningProxy } from './proxies.ts';
import { temporaryFile } from './temporary.ts';

export const CHAT = '/v1/chat/completions';
/** What the tests ask the model. It has six words, and each is a token. */
export const ASKED = [{ role: 'user', content: 'how many tokens does this take' }];
const ASKED_TOKENS = 6;

export const TOKEN_LIMIT = 100_000;
const RESERVE = 100;
/** The largest answer. */
export const UNKNOWN = produced({ input: ASKED_TOKENS, output: LONG_TOKENS });
/** Messages and responses have a limit for ten at once. */
export const AT_ONCE = 10;

const POLICIES = `
version: 1
identity: { sources: [ip] }
default: { limits: [100000/1h] }
policies:
  - name: login
    match: { method: POST, path: /login }
    limits:
      - { rate: 5/5min, refund: { header: { x-login: ok } } }
      - 1000/1d
  - name: models
    match: { method: POST, path: /v1/* }
    limits:
      - { rate: ${TOKEN_LIMIT}/month, algorithm: fixed-window, unit: tokens, reserve: ${RESERVE}, unknown: ${UNKNOWN} }
  - name: messages
    match: { method: POST, path: /v1/messages }
    limits:
      - { rate: ${AT_ONCE * RESERVE}/month, algorithm: fixed-window, unit: tokens, reserve: ${RESERVE}, unknown: ${RESERVE} }
  - name: responses
    match: { method: POST, path: /v1/responses }
    limits:
      - { rate: ${AT_ONCE * RESERVE}/month, algorithm: fixed-window, unit: tokens, reserve: ${RESERVE}, unknown: ${UNKNOWN} }
`;

export class ChargedApplication implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack();
  readonly #held: (() => void)[] = [];
  #settled = 0;
  #gateway!: Gateway;
  #proxy!: RunningProxy;
  model!: ModelServer;

  /** `settlesItself`: the application reports outcomes, and not the proxy. */
  static async start(
    start: (behind: Behind) => Promise<RunningProxy>,
    settlesItself: boolean,
  ): Promise<ChargedApplication> {
    const started = new ChargedApplication();
    const stack = started.#stack;
    const grpc = await freePort();
    started.#gateway = stack.use(
      await startGateway({
        HEADGATE_POLICIES: temporaryFile(stack, POLICIES),
        HEADGATE_GRPC_PORT: String(grpc),
      }),
    );
    const settle = async (token: string | undefined, outcome: object) => {
      if (settlesItself) await started.#settle(token, outcome);
    };
    started.model = stack.use(
      await startModelServer({
        onEnd: ({ token }, tokens) =>
          void settle(token, { status: 200, ...(tokens !== undefined && { units: { tokens } }) }),
        others: (request, response) => void started.#logIn(request, response, settle),
      }),
    );
    const headgate = started.#gateway.port;
    started.#proxy = stack.use(await start({ application: started.model.port, headgate, grpc }));
    return started;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }

  get url(): string {
    return this.#proxy.url;
  }

  /** Sends a POST from this address of loopback. */
  post(address: string, path: string, { headers, body }: HttpCall = {}): Promise<HttpAnswer> {
    const agent = new Agent({ localAddress: address });
    const sent = { 'Content-Type': 'application/json', ...headers };
    return call(this.url, path, { method: 'POST', headers: sent, body: body ?? '{}', agent });
  }

  /** Waits until so many more outcomes have been reported since the last call. */
  async settled(more: number): Promise<void> {
    this.#settled += more;
    const count = async () => {
      const { body } = await call(this.#gateway.opsUrl, '/metrics');
      const lines = body.matchAll(/^headgate_settlements_total\{[^}]*result="settled"\} (\d+)$/gm);
      return [...lines].reduce((sum, [, value]) => sum + Number(value), 0);
    };
    await eventually(count, (settled) => settled >= this.#settled);
  }

  /** What was charged to a client, in tokens. Only once for each: this itself reserves. */
  async charged(address: string, path: string, limit: number): Promise<number> {
    const { status, headers } = await call(this.#gateway.url, `/envoy${path}`, {
      method: 'POST',
      headers: { 'x-headgate-client-ip': address },
    });
    if (status === 429) return limit - Number(headers['x-ratelimit-remaining']);
    return limit - Number(headers['x-ratelimit-remaining']) - RESERVE;
  }

  /** Logins that wait for an answer. */
  get held(): number {
    return this.#held.length;
  }

  release(): void {
    for (const answer of this.#held.splice(0)) answer();
  }

  async #logIn(
    { headers }: IncomingMessage,
    response: ServerResponse,
    settle: (token: string | undefined, outcome: object) => Promise<void>,
  ): Promise<void> {
    if (headers['x-hold'] !== undefined) {
      await new Promise<void>((resolve) => this.#held.push(resolve));
    }
    const login = headers['x-password'] === 'right' ? 'ok' : 'failed';
    const token = headers['x-headgate-settle'];
    // Before the answer, so that the next login of a client comes after it.
    await settle(String(token), { status: 200, headers: { 'x-login': login } });
    response.writeHead(200, { 'X-Login': login }).end();
  }

  async #settle(token: string | undefined, outcome: object): Promise<void> {
    await call(this.#gateway.url, '/settle', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token, ...outcome }),
    });
  }
}
