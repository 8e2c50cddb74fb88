/** docs/charging-afterwards.md: what Envoy's rate limit filter charges when the stream of a language model ends. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { eventually } from '../support/eventually.ts';
import { call } from '../support/http.ts';
import { produced, startModelServer } from '../support/model/model-server.ts';
import { startEnvoyForModels } from '../support/proxies.ts';
import { descriptor, startRateLimitGateway } from '../support/rate-limits.ts';
import { temporaryFile } from '../support/temporary.ts';

const PAGE = readFileSync(new URL('../../docs/charging-afterwards.md', import.meta.url), 'utf8');
const [, ACTIONS = ''] = /^```yaml\n(- actions:.*?)^```$/ms.exec(PAGE) ?? [];
/** What the first action of the page charges. */
const AT_THE_REQUEST = 5;

const POLICIES = `
version: 1
identity: { sources: [ip] }
default: { limits: [100000/1h] }
`;
const RULES = `
domain: edge
descriptors:
  - key: generic_key
    value: tokens
    descriptors:
      - { key: remote_address, rate_limit: { unit: day, requests_per_unit: 100000 } }
`;
const ROUTER = '                  - name: envoy.filters.http.router\n';
const FILTER = {
  name: 'envoy.filters.http.ratelimit',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimit',
    domain: 'edge',
    timeout: '10s',
    rate_limits: parse(ACTIONS) as object,
    rate_limit_service: {
      transport_api_version: 'V3',
      grpc_service: { envoy_grpc: { cluster_name: 'headgate' } },
    },
  },
};
const CHAT = '/v1/chat/completions';
const ADDRESS = '127.0.7.1';
const messages = [{ role: 'user', content: 'how many tokens does this take' }];
const STREAM = { messages, stream: true, stream_options: { include_usage: true } };
const headers = { 'Content-Type': 'application/json' };

test.skipIf(inject('programs').envoy === undefined)(
  'Envoy charges the tokens of a whole stream, and nothing at the end of one that the client aborts',
  async () => {
    await using stack = new AsyncDisposableStack();
    const gateway = stack.use(
      await startRateLimitGateway(RULES, {
        HEADGATE_PORT: '0',
        HEADGATE_POLICIES: temporaryFile(stack, POLICIES),
      }),
    );
    const model = stack.use(await startModelServer());
    const proxy = stack.use(
      await startEnvoyForModels({
        ...{ application: model.port, headgate: 0, grpc: gateway.grpcPort },
        changes: { [ROUTER]: `                  - ${JSON.stringify(FILTER)}\n${ROUTER}` },
      }),
    );
    const agent = new Agent({ localAddress: ADDRESS });
    const read = () =>
      call(proxy.url, CHAT, { method: 'POST', headers, agent, body: JSON.stringify(STREAM) });
    const remaining = async () => {
      const entries = { generic_key: 'tokens', remote_address: ADDRESS };
      const check = { domain: 'edge', descriptors: [checkOf(entries)] };
      return (await gateway.client.ask(check)).message?.statuses[0]?.limit_remaining;
    };

    expect(await read()).toMatchObject({ status: 200 });
    const tokens = produced(model.answers[0] ?? { input: 0, output: 0 });
    const once = 100_000 - AT_THE_REQUEST - tokens;
    expect(await eventually(remaining, (left) => left === once)).toBe(once);

    await abort(proxy.url, agent, () => model.next(3));
    await eventually(
      async () => model.answers[1]?.output ?? 0,
      (output) => output > 0,
    );
    // Envoy has one thread here, so it has charged the stream before this one.
    expect(await read()).toMatchObject({ status: 200 });
    const afterwards = once - AT_THE_REQUEST - AT_THE_REQUEST - tokens;
    expect(await eventually(remaining, (left) => (left ?? 0) <= afterwards)).toBe(afterwards);
    agent.destroy();
  },
);

function checkOf(entries: Readonly<Record<string, string>>): object {
  return descriptor(entries, { hits_addend: { value: 0 } });
}

/** Hangs up once something of the stream has come. */
async function abort(url: string, agent: Agent, begin: () => void): Promise<void> {
  const { hostname, port } = new URL(url);
  const sent = request({ hostname, port, path: CHAT, method: 'POST', headers, agent });
  await new Promise<void>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', (response) => {
      response.on('error', () => {}).on('close', resolve);
      response.once('data', () => response.destroy());
      begin();
    });
    sent.end(JSON.stringify({ ...STREAM, model: 'slow' }));
  });
}
