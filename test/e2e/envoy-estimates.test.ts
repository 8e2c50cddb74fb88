/** deploy/envoy/openai.yaml with its filter that estimates the tokens of requests: they reserve what Envoy says. */
import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { type ModelServer, produced, startModelServer } from '../support/model/model-server.ts';
import { freePort } from '../support/ports.ts';
import { type RunningProxy, startEnvoyForModels } from '../support/proxies.ts';
import { temporaryFile } from '../support/temporary.ts';
import { withEstimates } from './support/models-file.ts';

const LIMIT = 100_000;
const UNKNOWN = 8_000;
const POLICIES = `
version: 1
identity: { sources: [ip] }
default: { limits: [600/1min] }
policies:
  - name: models
    match: { method: POST, path: /v1/* }
    limits:
      - { rate: ${LIMIT}/month, algorithm: fixed-window, unit: tokens, reserve: { metadata: envoy.ai.request_info }, unknown: ${UNKNOWN} }
`;
const SHIPPED = readFileSync(new URL('../../deploy/envoy/openai.yaml', import.meta.url), 'utf8');
const CHAT = '/v1/chat/completions';
const RESPONSES = '/v1/responses';
const headers = { 'Content-Type': 'application/json' };
const messages = [{ role: 'user', content: 'how many tokens does this take' }];
const input = 'how many tokens does this take';

describe.skipIf(inject('programs').envoy === undefined)('Envoy', () => {
  const stack = new AsyncDisposableStack();
  let proxy: RunningProxy;
  let model: ModelServer;
  let gateway: Gateway;
  let clients = 0;
  let requests = 0;

  beforeAll(async () => {
    const grpc = await freePort();
    gateway = stack.use(
      await startGateway({
        HEADGATE_POLICIES: temporaryFile(stack, POLICIES),
        HEADGATE_GRPC_PORT: String(grpc),
      }),
    );
    model = stack.use(await startModelServer());
    proxy = stack.use(
      await startEnvoyForModels({
        ...{ application: model.port, headgate: 0, grpc },
        text: withEstimates(SHIPPED),
      }),
    );
  });
  afterAll(() => stack.disposeAsync());

  /** A client that has its own budget. Each call resolves to what it has left. */
  function client(): (path: string, body: string) => Promise<number> {
    const agent = new Agent({ localAddress: `127.0.9.${++clients}` });
    return async (path, body) => {
      requests++;
      const answer = await call(proxy.url, path, { method: 'POST', headers, agent, body });
      return Number(answer.headers['x-ratelimit-remaining']);
    };
  }

  async function allSettled(): Promise<void> {
    const count = async () => {
      const { body } = await call(gateway.opsUrl, '/metrics');
      return Number(/^headgate_settlements_total\{.*result="settled"\} (\d+)$/m.exec(body)?.[1]);
    };
    await eventually(count, (settled) => settled === requests);
  }

  test.each([
    ['a chat completion', CHAT, { messages, max_completion_tokens: 100 }],
    ['a chat completion of older clients', CHAT, { messages, max_tokens: 100 }],
    ['a stream', CHAT, { messages, max_tokens: 100, stream: true }],
    ['a response', RESPONSES, { input, max_output_tokens: 100 }],
  ])(
    'lets %s reserve half a token for each byte, and the most that it may answer',
    async (_, path, body) => {
      const text = JSON.stringify(body);
      expect(await client()(path, text)).toBe(LIMIT - Math.ceil(text.length / 2) - 100);
    },
  );

  test.each([
    ['does not say how long its answer may be', CHAT, JSON.stringify({ messages })],
    [
      'is on a path that no route names',
      '//v1/responses',
      JSON.stringify({ input, max_output_tokens: 1 }),
    ],
    ['has a bad number', CHAT, JSON.stringify({ messages, max_tokens: 'x' })],
    ['has a negative number', CHAT, JSON.stringify({ messages, max_tokens: -5 })],
    ['has a huge number', CHAT, JSON.stringify({ messages, max_tokens: 1e30 })],
    ['is of another API', '/v1/embeddings', JSON.stringify({ input })],
  ])('lets a request that %s reserve unknown', async (_, path, body) => {
    expect(await client()(path, body)).toBe(LIMIT - UNKNOWN);
  });

  test('refuses what it cannot read, and bodies above 4 MiB, without a check', async () => {
    const statusOf = async (body: string) =>
      (await call(proxy.url, CHAT, { method: 'POST', headers, body })).status;
    const before = model.answers.length;
    const twice = `{"max_tokens":1,${JSON.stringify({ messages, max_tokens: 9 }).slice(1)}`;
    expect([await statusOf('no JSON'), await statusOf(twice)]).toEqual([400, 400]);
    const large = JSON.stringify({ messages, user: 'x'.repeat(4 * 1024 * 1024) });
    expect(await statusOf(large)).toBe(413);
    expect(model.answers).toHaveLength(before);
  });

  test('charges what the answer took, in place of the estimate', async () => {
    const send = client();
    const text = JSON.stringify({ messages, max_tokens: 100 });
    const reserved = LIMIT - (await send(CHAT, text));
    await allSettled();
    const tokens = produced(model.answers.at(-1) ?? { input: 0, output: 0 });
    expect(await send(CHAT, text)).toBe(LIMIT - tokens - reserved);
  });
});
