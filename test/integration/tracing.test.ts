/** Traces: the trace id of a denial, and the spans that a collector gets from a running gateway. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { type Span, startCollector } from '../support/collector.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import { connectRateLimit, descriptor } from '../support/rate-limits.ts';
import { startRedisServer } from '../support/redis-server.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const SAMPLED = { traceparent: `00-${TRACE}-${PARENT}-01` };
const UNSAMPLED = { traceparent: `00-${TRACE}-${PARENT}-00` };
const CLIENT = { 'x-headgate-client-ip': '203.0.113.77', 'x-api-key': 'a-key-of-a-client' };

const ADMIN = { authorization: 'Bearer token-of-the-operators' };

const folder = mkdtempSync(join(tmpdir(), 'headgate-tracing-'));
afterAll(() => rmSync(folder, { recursive: true }));
const policies = join(folder, 'policies.yaml');
writeFileSync(
  policies,
  `version: 1
identity: { sources: [api_key, ip], api_key: { header: x-api-key } }
default: { limits: [1000/1h] }
policies:
  - { name: login, match: { path: /login }, limits: [1/1h], on_store_failure: deny }
  - { name: tool, match: { path: /mcp, mcp: { method: tools/call, name: search_* } }, limits: [1/1h] }
  - { name: other-calls, match: { path: /mcp, mcp: { method: none } }, limits: [1/1h] }
`,
);

function login(gateway: GatewayProcess, headers: Record<string, string>) {
  return call(gateway.url, '/envoy/login', { headers: { ...CLIENT, ...headers } });
}

const named = (spans: readonly Span[], name: string) => spans.filter((span) => span.name === name);

describe('a denial', () => {
  test('has the trace id of its request in the body and in the log, if it is valid', async () => {
    await using gateway = await startGatewayProcess({ HEADGATE_POLICIES: policies });
    expect((await login(gateway, SAMPLED)).status).toBe(200);
    const denied = JSON.parse((await login(gateway, UNSAMPLED)).body);
    expect(denied.trace_id).toBe(TRACE);
    await gateway.printed(
      new RegExp(`"decision_id":"${denied.decision_id}","trace_id":"${TRACE}"`),
    );
    for (const traceparent of ['', 'x', `00-${TRACE}-${PARENT}-01,00-${TRACE}-${PARENT}-01`])
      expect(JSON.parse((await login(gateway, { traceparent })).body)).not.toHaveProperty(
        'trace_id',
      );
  });
});

describe('with a collector', () => {
  test('a sampled check has a span with its decision, and a child for the store', async () => {
    await using collector = await startCollector();
    await using gateway = await startGatewayProcess({
      HEADGATE_POLICIES: policies,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    });
    expect((await login(gateway, SAMPLED)).status).toBe(200);
    const denied = JSON.parse((await login(gateway, SAMPLED)).body);
    expect((await login(gateway, UNSAMPLED)).status).toBe(429);
    expect((await login(gateway, {})).status).toBe(429);
    // The end of the process sends what is left.
    expect(await gateway.stop()).toBe(0);
    const [allow, deny, ...others] = named(collector.spans, 'headgate.check');
    expect(others).toEqual([]);
    const decided = { 'headgate.policy': 'login', 'headgate.mode': 'enforced' };
    expect(allow).toMatchObject({
      traceId: TRACE,
      parentSpanId: PARENT,
      kind: 2,
      service: 'headgate',
      attributes: { ...decided, 'headgate.verdict': 'allow', 'headgate.reason': 'within_limits' },
    });
    expect(deny?.attributes).toEqual({
      ...decided,
      'headgate.verdict': 'deny',
      'headgate.reason': 'over_limit',
      'headgate.limit': 'login',
      'headgate.decision_id': denied.decision_id,
    });
    const takes = named(collector.spans, 'headgate.take');
    expect(takes.map(({ parentSpanId }) => parentSpanId)).toEqual([allow?.spanId, deny?.spanId]);
    expect(takes.map(({ kind }) => kind)).toEqual([3, 3]);
    expect(takes.map(({ attributes }) => attributes['headgate.admitted'])).toEqual([true, false]);
    for (const secret of [...Object.values(CLIENT), '/login'])
      expect(collector.received()).not.toContain(secret);
  });

  test('names of tools that clients send are in nothing that the gateway reports', async () => {
    await using collector = await startCollector();
    await using gateway = await startGatewayProcess({
      HEADGATE_POLICIES: policies,
      HEADGATE_ADMIN_TOKEN: ADMIN.authorization.slice('Bearer '.length),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    });
    const callTool = (name: string) =>
      call(gateway.url, '/envoy/mcp', {
        method: 'POST',
        headers: {
          ...{ ...CLIENT, ...SAMPLED, 'mcp-protocol-version': '2026-07-28' },
          ...{ 'mcp-method': 'tools/call', 'mcp-name': name },
        },
      });
    const encoded = `=?base64?${Buffer.from('search_of_a_client').toString('base64')}?=`;
    const answers = [await callTool('search_of_a_client'), await callTool(encoded)];
    answers.push(await callTool('search_of_a_client, b'));
    expect(answers.map(({ status }) => status)).toEqual([200, 429, 400]);
    const { error } = JSON.parse(answers[1]?.body ?? '');
    const paths = [
      ...['/metrics', '/readyz', '/v1/overview', '/v1/clients/top', '/v1/overrides'],
      ...['/v1/policies', `/v1/decisions/${error.data.decision_id}`],
    ];
    const reports = await Promise.all(
      paths.map((path) => call(gateway.opsUrl, path, { headers: ADMIN })),
    );
    expect(reports.map(({ status }) => status)).toEqual(paths.map(() => 200));
    expect(await gateway.stop()).toBe(0);
    const all = [...answers, ...reports].map((answer) => JSON.stringify(answer));
    all.push(gateway.output(), collector.received());
    const policiesOf = named(collector.spans, 'headgate.check').map(
      ({ attributes }) => attributes['headgate.policy'],
    );
    expect(policiesOf).toEqual(['tool', 'tool', 'none']);
    for (const text of all) {
      expect(text).not.toContain('of_a_client');
      expect(text).not.toContain(encoded.slice(12, -8));
    }
  });

  test('a sampled call of the rate limit service has them too, and its denial the trace id', async () => {
    await using collector = await startCollector();
    const rules =
      'domain: d\ndescriptors: [{ key: u, rate_limit: { unit: day, requests_per_unit: 1 } }]';
    writeFileSync(join(folder, 'rules.yaml'), rules);
    await using gateway = await startGatewayProcess({
      HEADGATE_POLICIES: policies,
      HEADGATE_GRPC_PORT: '0',
      HEADGATE_RATELIMIT_CONFIG: join(folder, 'rules.yaml'),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    });
    using client = connectRateLimit(gateway.grpcPort);
    const limited = { domain: 'd', descriptors: [descriptor({ u: 'somebody' })] };
    const sent = [
      await client.ask(limited, SAMPLED),
      await client.ask(limited, SAMPLED),
      await client.ask(limited, UNSAMPLED),
    ];
    expect(sent.map(({ message }) => message?.overall_code)).toEqual([
      'OK',
      'OVER_LIMIT',
      'OVER_LIMIT',
    ]);
    await gateway.printed(new RegExp(`"trace_id":"${TRACE}"`));
    expect(await gateway.stop()).toBe(0);
    const [allow, deny, ...others] = named(collector.spans, 'headgate.check');
    expect(others).toEqual([]);
    expect(allow).toMatchObject({ traceId: TRACE, parentSpanId: PARENT });
    expect(deny?.attributes).toMatchObject({
      'headgate.policy': 'd.u',
      'headgate.reason': 'over_limit',
      'headgate.decision_id': expect.any(String),
    });
    const takes = named(collector.spans, 'headgate.take');
    expect(takes.map(({ parentSpanId }) => parentSpanId)).toEqual([allow?.spanId, deny?.spanId]);
    expect(collector.received()).not.toContain('somebody');
  });

  test('OTEL_TRACES_SAMPLER, OTEL_SERVICE_NAME and OTEL_SDK_DISABLED apply', async () => {
    await using collector = await startCollector();
    const settings = {
      HEADGATE_POLICIES: policies,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_TRACES_SAMPLER: 'always_on',
      OTEL_SERVICE_NAME: 'limits',
    };
    await using disabled = await startGatewayProcess({ ...settings, OTEL_SDK_DISABLED: 'true' });
    await login(disabled, SAMPLED);
    expect(await disabled.stop()).toBe(0);
    expect(collector.spans).toEqual([]);
    await using gateway = await startGatewayProcess(settings);
    await login(gateway, {});
    expect(await gateway.stop()).toBe(0);
    expect(named(collector.spans, 'headgate.check')).toMatchObject([{ service: 'limits' }]);
  });

  test.skipIf(inject('programs')['redis-server'] === undefined)(
    'a take that fails is an error with its reason',
    async () => {
      await using collector = await startCollector();
      await using redis = await startRedisServer();
      await using gateway = await startGatewayProcess({
        HEADGATE_POLICIES: policies,
        HEADGATE_REDIS_URL: redis.url,
        HEADGATE_STORE_TIMEOUT_MS: '1000',
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      });
      await redis.stop();
      expect((await login(gateway, SAMPLED)).status).toBe(429);
      expect(await gateway.stop()).toBe(0);
      const [take] = named(collector.spans, 'headgate.take');
      expect(take).toMatchObject({
        isError: true,
        attributes: { 'error.type': expect.any(String) },
      });
      const [check] = named(collector.spans, 'headgate.check');
      expect(check).toMatchObject({ isError: false, attributes: { 'headgate.mode': 'closed' } });
    },
  );
});

describe('requests are answered as always', () => {
  test('if the collector is down, and the log says so', async () => {
    await using gateway = await startGatewayProcess({
      HEADGATE_POLICIES: policies,
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}`,
    });
    expect((await login(gateway, SAMPLED)).status).toBe(200);
    expect(await gateway.stop()).toBe(0);
    expect(gateway.output()).toContain('"event":"spans_lost"');
  });

  test.each([
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'headgate exports over http/protobuf only'],
    ['OTEL_TRACES_SAMPLER', 'sometimes', 'must be one of always_on, '],
    ['OTEL_TRACES_SAMPLER', 'toString', 'must be one of always_on, '],
  ])('if %s is %s, and the log says what to do', async (name, value, remedy) => {
    await using gateway = await startGatewayProcess({
      HEADGATE_POLICIES: policies,
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      [name]: value,
    });
    expect((await login(gateway, SAMPLED)).status).toBe(200);
    expect(gateway.output()).toContain(`"event":"tracing_off","remedy":"${name}: ${remedy}`);
  });
});
