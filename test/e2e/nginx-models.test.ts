/** docs/examples/openai-relay.mjs: behind NGINX, a model server that knows nothing of headgate is charged by its tokens. */
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { type ModelServer, produced, startModelServer } from '../support/model/model-server.ts';
import { freePort } from '../support/ports.ts';
import { accepting, startProcess } from '../support/process.ts';
import { type RunningProxy, startNginx } from '../support/proxies.ts';
import { temporaryFile } from '../support/temporary.ts';
import { NODE } from '../support/tested-command.ts';

const RELAY = fileURLToPath(new URL('../../docs/examples/openai-relay.mjs', import.meta.url));
const LIMIT = 100_000;
const RESERVE = 500;
const UNKNOWN = 8_000;
const POLICIES = `
version: 1
identity: { sources: [ip] }
default:
  limits:
    - { rate: ${LIMIT}/month, unit: tokens, reserve: ${RESERVE}, unknown: ${UNKNOWN} }
`;

const CHAT = '/v1/chat/completions';
const messages = [{ role: 'user', content: 'how many tokens does this take' }];
const input = 'how many tokens does this take';
const headers = { 'Content-Type': 'application/json' };
const ADDRESS = '127.0.6.2';
const agent = new Agent({ localAddress: ADDRESS });

describe.skipIf(inject('programs').nginx === undefined)('through NGINX', () => {
  const stack = new AsyncDisposableStack();
  let gateway: Gateway;
  let model: ModelServer;
  let proxy: RunningProxy;
  let settled = 0;
  let charged = 0;

  beforeAll(async () => {
    gateway = stack.use(await startGateway({ HEADGATE_POLICIES: temporaryFile(stack, POLICIES) }));
    model = stack.use(await startModelServer());
    const port = await freePort();
    const relay = stack.use(
      startProcess(NODE, [RELAY], {
        env: {
          PORT: String(port),
          MODEL_URL: `http://127.0.0.1:${model.port}`,
          HEADGATE_URL: `http://127.0.0.1:${gateway.port}`,
        },
      }),
    );
    await accepting(port, relay);
    proxy = stack.use(await startNginx({ application: port, headgate: gateway.port }));
  });
  afterAll(() => stack.disposeAsync());

  /** Tokens that are left, once the outcomes of all requests have been reported. */
  async function left(): Promise<number> {
    settled++;
    await eventually(
      async () => SETTLED.exec((await call(gateway.opsUrl, '/metrics')).body)?.[1],
      (count) => Number(count) === settled,
    );
    const next = await call(gateway.url, `/envoy${CHAT}`, {
      headers: { 'x-headgate-client-ip': ADDRESS },
    });
    const token = next.headers['x-headgate-settle'];
    const report = { token, status: 200, units: { tokens: 0 } };
    await call(gateway.url, '/settle', { method: 'POST', headers, body: JSON.stringify(report) });
    settled++;
    return Number(next.headers['x-ratelimit-remaining']) + RESERVE;
  }

  const answerOf = (body: object, path = CHAT) =>
    call(proxy.url, path, { method: 'POST', headers, agent, body: JSON.stringify(body) });

  test.each([
    ['a chat completion', CHAT, { messages }],
    [
      'a stream whose client asks for usage',
      CHAT,
      { messages, stream: true, stream_options: { include_usage: true } },
    ],
    ['a stream whose client does not', CHAT, { messages, stream: true }],
    ['a response', '/v1/responses', { input }],
    ['a stream of a response', '/v1/responses', { input, stream: true }],
    ['a long response in one event', '/v1/responses', { input, stream: true, model: 'long' }],
  ])('charges the tokens of %s', async (_, path, body) => {
    const answer = await answerOf(body, path);
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.headers['x-headgate-settle']).toBeUndefined();
    const given = model.answers.at(-1);
    expect(given).toMatchObject({ isWhole: true, token: undefined });
    charged += produced(given ?? { input: 0, output: 0 });
    expect(await left()).toBe(LIMIT - charged);
  });

  test.each([
    ['without usage', { messages, model: 'silent' }],
    ['that the model cuts', { messages, model: 'cut', stream: true }],
  ])('charges an answer %s as unknown', async (_, body) => {
    await answerOf(body).catch(() => undefined);
    charged += UNKNOWN;
    expect(await left()).toBe(LIMIT - charged);
  });

  test('charges a stream that the client aborts as unknown', async () => {
    await abort(proxy.url, () => model.next(3));
    charged += UNKNOWN;
    expect(await left()).toBe(LIMIT - charged);
  });

  test('charges nothing for errors, and asks no server that a path names', async () => {
    for (const path of ['/v1/nothing', '//127.0.0.1:1/v1/chat/completions']) {
      expect(await answerOf({ messages }, path)).toMatchObject({ status: 404 });
      expect(await left()).toBe(LIMIT - charged);
    }
    await model[Symbol.asyncDispose]();
    expect(await answerOf({ messages })).toMatchObject({ status: 502 });
    expect(await left()).toBe(LIMIT - charged);
  });
});

const SETTLED = /^headgate_settlements_total\{.*channel="settle",result="settled"\} (\d+)$/m;

/** Hangs up once the stream has begun and something of it has come. */
async function abort(url: string, begin: () => void): Promise<void> {
  const { hostname, port } = new URL(url);
  const sent = request({ hostname, port, path: CHAT, method: 'POST', headers, agent });
  await new Promise<void>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', (response) => {
      response.once('data', () => {
        response.on('error', () => {});
        response.destroy();
        resolve();
      });
      begin();
    });
    sent.end(JSON.stringify({ messages, model: 'slow', stream: true }));
  });
}
