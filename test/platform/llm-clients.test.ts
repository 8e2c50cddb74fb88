/** What the official SDKs of OpenAI and Anthropic do when a real proxy denies their calls. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { type RunningProxy, startEnvoy, startNginx } from '../support/proxies.ts';
import {
  anthropicNode,
  type LlmClient,
  openAiNode,
  pythonClient,
} from './support/llm-clients/llm-client.ts';
import { type Recorder, startModel, startRecorder } from './support/llm-clients/model-server.ts';

const programs = inject('programs');
const library = programs['llm-clients'];
const isPythonHere = library !== undefined;
const POLICIES = `
version: 1
identity: { sources: [ip] }
default: { limits: [10000/1h] }
answers: { body: openai, headers: openai }
policies:
  - name: soon
    match: { path: /soon/* }
    limits: [1/5s]
`;
/** For each client, because all have one address. */
const strict = (name: string) => `
  - name: ${name}
    match: { path: /${name}/* }
    limits:
      - 1/1h
      - { rate: 900/1h, unit: tokens, reserve: 100, algorithm: sliding-window-counter }
`;

const CLIENTS: readonly {
  readonly name: string;
  readonly isHere: boolean;
  readonly client: LlmClient;
  /** What the error of the SDK says of the denial. */
  readonly says: (message: string) => string;
}[] = [
  { name: 'openai-node', isHere: true, client: openAiNode, says: (text) => `429 ${text}` },
  {
    name: 'openai-python',
    isHere: isPythonHere,
    client: pythonClient('openai', library),
    says: (text) => `Error code: 429 - ${text}`,
  },
  {
    name: 'anthropic-node',
    isHere: true,
    client: anthropicNode,
    says: (text) => `429 {"error":{"message":"${text}"`,
  },
  {
    name: 'anthropic-python',
    isHere: isPythonHere,
    client: pythonClient('anthropic', library),
    says: (text) => `Error code: 429 - {'error': {'message': '${text}'`,
  },
];

const folder = mkdtempSync(join(tmpdir(), 'headgate-llm-clients-'));
const policyFile = join(folder, 'policies.yaml');
writeFileSync(
  policyFile,
  POLICIES + CLIENTS.map(({ name }) => strict(name) + strict(`${name}-once`)).join(''),
);
afterAll(() => rmSync(folder, { recursive: true }));

describe.each([
  { proxy: 'nginx' as const, start: startNginx },
  { proxy: 'envoy' as const, start: startEnvoy },
])('behind $proxy', ({ proxy: program, start }) => {
  const stack = new AsyncDisposableStack();
  let proxy: RunningProxy;
  let recorder: Recorder;

  beforeAll(async () => {
    if (programs[program] === undefined) return;
    const model = stack.use(await startModel());
    const gateway = stack.use(await startGateway({ HEADGATE_POLICIES: policyFile }));
    proxy = stack.use(await start({ application: model.port, headgate: gateway.port }));
    recorder = stack.use(await startRecorder(proxy.url));
  });
  afterAll(() => stack.disposeAsync());
  afterEach(() => {
    recorder.seen.length = 0;
  });
  const urlOf = (path: string) => `http://127.0.0.1:${recorder.port}/${path}`;

  for (const { name, isHere, client, says } of CLIENTS) {
    const testHere = test.skipIf(!isHere || programs[program] === undefined);

    testHere(`${name} waits as it is told, and then succeeds by itself`, async () => {
      const outcome = await client({ baseUrl: urlOf('soon'), calls: 2 });
      expect(outcome).toEqual({ answered: 2, failure: null });
      // The client before it has the same address, and may have called within the window.
      const repeated = recorder.seen.indexOf('repeated 0: 429');
      expect(repeated).toBeGreaterThanOrEqual(0);
      expect(recorder.seen[repeated + 1]).toMatch(/^repeated 1: /);
      expect(recorder.seen.filter((each) => each.endsWith(': 200'))).toHaveLength(2);
    });

    testHere(`${name} does not repeat a call that must wait for more than a minute`, async () => {
      const outcome = await client({ baseUrl: urlOf(name), calls: 2 });
      expect(outcome).toMatchObject({
        answered: 1,
        failure: { kind: 'RateLimitError', status: 429 },
      });
      const message = outcome.failure?.message.replace(/\d{4} seconds/, 'N seconds');
      const text = says(`Policy ${name} allows 1 request per hour. Try again in N seconds.`);
      expect(message?.slice(0, text.length)).toBe(text);
      expect(recorder.seen).toEqual(['repeated 0: 200', 'repeated 0: 429']);
      const { headers } = await call(proxy.url, `/${name}/`);
      expect(headers).toMatchObject({
        'x-should-retry': 'false',
        'x-ratelimit-limit-requests': '1',
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-limit-tokens': '900',
        'x-ratelimit-remaining-tokens': '800',
      });
      expect(headers['retry-after-ms']).toMatch(/^3[56]\d{5}$/);
      expect(headers['x-ratelimit-reset-tokens']).toMatch(/^(1h)?\d+m[\d.]+s$/);
    });

    testHere(`${name} says what was limited if it may not repeat calls`, async () => {
      const outcome = await client({ baseUrl: urlOf(`${name}-once`), calls: 2, maxRetries: 0 });
      expect(outcome.failure).toMatchObject({ kind: 'RateLimitError', status: 429 });
      const message = outcome.failure?.message.replace(/\d{4} seconds/, 'N seconds');
      const text = says(`Policy ${name}-once allows 1 request per hour. Try again in N seconds.`);
      expect(message?.slice(0, text.length)).toBe(text);
    });
  }
});
