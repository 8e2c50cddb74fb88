/** deploy/envoy/openai.yaml: Envoy reports the tokens of each answer with the token of its request, also if it was cut. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { eventually } from '../support/eventually.ts';
import { call } from '../support/http.ts';
import { type ModelServer, produced, startModelServer } from '../support/model/model-server.ts';
import { findProgram } from '../support/programs.ts';
import { type RunningProxy, startEnvoyForModels } from '../support/proxies.ts';
import { proxyConfigOf } from '../support/proxy-config.ts';
import { temporaryFile } from '../support/temporary.ts';
import { withEstimates } from './support/models-file.ts';
import {
  type LoggedRequest,
  type StandInAuthorizer,
  startStandInAuthorizer,
} from './support/stand-in-authorizer.ts';

const CHAT = '/v1/chat/completions';
const RESPONSES = '/v1/responses';
const WITH_USAGE = { stream: true, stream_options: { include_usage: true } };
const ABORTED = 'downstream_remote_disconnect';

const POLICIES = `
version: 1
identity: { sources: [api_key, ip], api_key: { header: authorization } }
default: { limits: [600/1min] }
policies:
  - { name: models, match: { method: POST, path: /v1/* }, limits: [60/1min], on_gateway_failure: deny }
`;
const SHIPPED = readFileSync(new URL('../../deploy/envoy/openai.yaml', import.meta.url), 'utf8');
const ADDED = /^ *# settle: (?!end$)[\s\S]*?# settle: end\n/gm;

test('it is what headgate proxy-config prints, with what it adds between marks', () => {
  const printed = parse(proxyConfigOf('envoy-grpc', POLICIES));
  expect(SHIPPED.match(ADDED)?.length).toBeGreaterThan(4);
  expect(parse(SHIPPED.replace(ADDED, ''))).toEqual(printed);
});

describe.skipIf(inject('programs').envoy === undefined)('through Envoy', () => {
  test('is valid with the estimates of requests, too', () => {
    using files = new DisposableStack();
    const estimating = withEstimates(SHIPPED);
    expect(estimating).toContain(
      '\n                  - name: envoy.filters.http.ai_protocol_manager\n',
    );
    expect(estimating).toContain('\n                      typed_metadata_context_namespaces: [');
    const file = temporaryFile(files, estimating, 'openai.yaml');
    const envoy = findProgram('envoy') ?? 'envoy';
    expect(() =>
      execFileSync(envoy, ['--mode', 'validate', '-c', file], { stdio: 'pipe' }),
    ).not.toThrow();
  });

  const stack = new AsyncDisposableStack();
  let authorizer: StandInAuthorizer;
  let model: ModelServer;
  let proxy: RunningProxy;
  let requests = 0;

  beforeAll(async () => {
    authorizer = stack.use(await startStandInAuthorizer());
    model = stack.use(await startModelServer());
    const { headgate, grpc } = authorizer;
    proxy = stack.use(await startEnvoyForModels({ application: model.port, headgate, grpc }));
  });
  afterAll(() => stack.disposeAsync());

  function nextToken(): string {
    authorizer.token = `token-${++requests}`;
    return authorizer.token;
  }

  async function loggedOf(token: string): Promise<LoggedRequest | undefined> {
    return eventually(
      async () => authorizer.logged.find((each) => each.token === token),
      (found) => found !== undefined,
    );
  }

  const answerOf = (body: object, path = CHAT, headers = {}) =>
    call(proxy.url, path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });

  const messages = [{ role: 'user', content: 'how many tokens does this take' }];
  const input = 'how many tokens does this take';

  test.each([
    ['a chat completion', CHAT, { messages }],
    ['a stream of a chat completion', CHAT, { messages, ...WITH_USAGE }],
    ['one that the limit of the request cut', CHAT, { messages, max_tokens: 1, ...WITH_USAGE }],
    ['a response', RESPONSES, { input }],
    ['a stream of a response', RESPONSES, { input, stream: true }],
    ['a response that is incomplete', RESPONSES, { input, stream: true, max_output_tokens: 3 }],
    ['a long response in one event', RESPONSES, { input, stream: true, model: 'large' }],
    ['a long response', RESPONSES, { input, model: 'large' }],
  ])('reports the tokens of %s', async (_, path, body) => {
    const token = nextToken();
    expect(await answerOf(body, path, { 'Accept-Encoding': 'gzip' })).toMatchObject({
      status: 200,
    });
    const answer = model.answers.at(-1);
    expect(answer).toMatchObject({ isWhole: true, token: undefined });
    const tokens = produced(answer ?? { input: 0, output: 0 });
    expect(await loggedOf(token)).toEqual({ token, tokens, details: 'via_upstream' });
  });

  test.each([
    ['without usage', CHAT, { messages, model: 'silent' }],
    ['of a stream whose client wants no usage', CHAT, { messages, stream: true }],
    ['of a stream that ends without usage', RESPONSES, { input, stream: true, model: 'silent' }],
  ])('reports an answer %s without tokens', async (_, path, body) => {
    const token = nextToken();
    expect(await answerOf(body, path)).toMatchObject({ status: 200 });
    expect(await loggedOf(token)).toEqual({ token, tokens: undefined, details: 'via_upstream' });
  });

  test('reports a stream that the client aborts', async () => {
    const token = nextToken();
    const body = { messages, model: 'slow', ...WITH_USAGE };
    await abort(proxy.url, body, () => model.next(3));
    expect(await loggedOf(token)).toEqual({ token, tokens: undefined, details: ABORTED });
    expect(model.answers.at(-1)).toMatchObject({ isWhole: false });
  });

  test('reports a stream that the model cuts', async () => {
    const token = nextToken();
    await answerOf({ messages, model: 'cut', ...WITH_USAGE }).catch(() => undefined);
    expect(await loggedOf(token)).toMatchObject({ token, tokens: undefined });
  });

  test('reports no request that reserved nothing', async () => {
    authorizer.token = undefined;
    expect(await answerOf({ messages })).toMatchObject({ status: 200 });
    const token = nextToken();
    await answerOf({ messages });
    await loggedOf(token);
    expect(authorizer.logged.every((each) => each.token !== undefined)).toBe(true);
  });
});

/** Hangs up once the stream has begun and something of it has come. */
async function abort(url: string, body: object, begin: () => void): Promise<void> {
  const { hostname, port } = new URL(url);
  const headers = { 'Content-Type': 'application/json' };
  const sent = request({ hostname, port, path: CHAT, method: 'POST', headers, agent: false });
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
    sent.end(JSON.stringify(body));
  });
}
