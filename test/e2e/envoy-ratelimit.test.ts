/** Envoy's rate limit filter with headgate as its service: deploy/ratelimit, in the newest Envoy and the oldest. */
import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startGatewayProcess } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { metric } from '../support/metrics.ts';
import { freePort } from '../support/ports.ts';
import { ENVOYS, type RunningProxy, startEnvoyRateLimit } from '../support/proxies.ts';
import { type RateLimitGateway, startRateLimitGateway } from '../support/rate-limits.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

const RULES = readFileSync(
  new URL('../../deploy/ratelimit/config/edge.yaml', import.meta.url),
  'utf8',
);
const LOGIN = '/api/auth/login';
const programs = inject('programs');
let clients = 0;

/** A client without any counted request: another address of this machine. */
const newClient = () => new Agent({ localAddress: `127.0.2.${++clients}` });

describe.skipIf(programs.envoy === undefined)("Envoy's rate limit filter", () => {
  const started = new AsyncDisposableStack();
  let gateway: RateLimitGateway;
  let upstream: Upstream;
  let envoy: RunningProxy;

  const behind = (grpc: number) => ({ headgate: 0, grpc, application: upstream.port });

  beforeAll(async () => {
    upstream = started.use(await startUpstream());
    gateway = started.use(await startRateLimitGateway(RULES));
    envoy = started.use(await startEnvoyRateLimit(behind(gateway.grpcPort)));
  });
  afterAll(() => started.disposeAsync());

  test('denies the sixth login with 429, a body, and when to retry', async () => {
    const agent = newClient();
    const login = () => call(envoy.url, LOGIN, { method: 'POST', agent });
    expect(await statuses(5, login)).toEqual([200, 200, 200, 200, 200]);
    const { status, headers, body } = await login();
    expect(status).toBe(429);
    expect(headers).toMatchObject({
      'x-envoy-ratelimited': 'true',
      'content-type': 'application/json',
      'retry-after': expect.stringMatching(/^(59|60)$/),
      'x-ratelimit-limit': '5, 100;w=60, 5;w=60',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': expect.stringMatching(/^(59|60)$/),
      'x-ratelimit-decision-id': expect.stringMatching(/^[0-9a-f]{12}-\d+$/),
    });
    expect(JSON.parse(body)).toMatchObject({
      error: 'rate_limit_exceeded',
      policy: 'edge.generic_key_login.remote_address',
    });
    expect((await call(envoy.url, '/other', { agent })).status).toBe(200);
  });

  test('says what is left of the limit that is nearest', async () => {
    const agent = newClient();
    const { headers } = await call(envoy.url, '/page', { agent });
    expect(headers).toMatchObject({
      'x-ratelimit-limit': '100, 100;w=60',
      'x-ratelimit-remaining': '99',
      'x-ratelimit-reset': '60',
    });
    expect(headers['x-ratelimit-decision-id']).toBe(undefined);
  });

  test('charges the bytes of responses when they end, and denies once they are used up', async () => {
    await using metered = await startRateLimitGateway(RULES.replace('1000000', '20'));
    await using proxy = await startEnvoyRateLimit(behind(metered.grpcPort));
    const agent = newClient();
    const download = () => call(proxy.url, '/downloads/a', { agent });
    // The application's answers have 15 bytes. Envoy waits for no answer to a charge.
    const charged = (outcome: string) => () =>
      metric(
        metered,
        `headgate_ratelimit_hits_total{limit="edge.generic_key_downloads.remote_address",outcome="${outcome}"}`,
      );
    expect((await download()).status).toBe(200);
    await eventually(charged('within'), (hits) => hits === 15);
    expect((await download()).status).toBe(200);
    await eventually(charged('over'), (hits) => hits === 15);
    expect((await download()).status).toBe(429);
  });

  test.each([
    { denies: false, status: 200 },
    { denies: true, status: 500 },
  ])(
    'with failure_mode_deny: $denies, answers $status while the gateway fails',
    async ({ denies, status }) => {
      const changes = { 'failure_mode_deny: false': `failure_mode_deny: ${denies}` };
      const through = async (grpc: number) => {
        await using proxy = await startEnvoyRateLimit({
          ...behind(grpc),
          changes,
          hasShippedTimeouts: true,
        });
        return (await call(proxy.url, LOGIN, { agent: newClient() })).status;
      };
      expect(['down', await through(await freePort())]).toEqual(['down', status]);
      await using hung = await startGatewayProcess(processEnv(gateway.file));
      hung.signal('SIGSTOP');
      expect(['hung', await through(hung.grpcPort)]).toEqual(['hung', status]);
      hung.signal('SIGCONT');
      const redis = `redis://127.0.0.1:${await freePort()}`;
      await using withoutRedis = await startRateLimitGateway(RULES, { HEADGATE_REDIS_URL: redis });
      expect(['Redis gone', await through(withoutRedis.grpcPort)]).toEqual(['Redis gone', status]);
    },
  );

  test('counts each of 16 clients exactly, while they ask at the same time', async () => {
    const counted = await Promise.all(
      Array.from({ length: 16 }, async () => {
        const agent = newClient();
        const codes = await statuses(8, () => call(envoy.url, LOGIN, { agent }));
        return codes.join();
      }),
    );
    expect(new Set(counted)).toEqual(new Set(['200,200,200,200,200,429,429,429']));
  });

  test.each(ENVOYS)(
    '%s, whose cluster has no host name, as those of Istio, is answered',
    async (program) => {
      const name = 'outbound|8081||ratelimit.default.svc.cluster.local';
      const changes = {
        'cluster_name: ratelimit }': `cluster_name: "${name}" }`,
        'name: ratelimit\n      connect': `name: "${name}"\n      connect`,
        'failure_mode_deny: false': 'failure_mode_deny: true',
      };
      await using proxy = await startEnvoyRateLimit(
        { ...behind(gateway.grpcPort), changes },
        program,
      );
      const agent = newClient();
      expect(await statuses(6, () => call(proxy.url, LOGIN, { agent }))).toEqual([
        200, 200, 200, 200, 200, 429,
      ]);
    },
  );

  const FILTERS = ['the first', 'the second', 'both', 'neither'] as const;

  test.each(FILTERS.flatMap((named) => [50, 200].map((length) => [named, length] as const)))(
    'two filters share a cluster, and %s has an authority, with a cluster name of %i characters',
    async (named, length) => {
      const cluster = 'outbound|8081||ratelimit.default.svc.cluster.local'.padEnd(length, '.a');
      const service = (filter: string) =>
        named === filter || named === 'both'
          ? `cluster_name: "${cluster}", authority: headgate }`
          : `cluster_name: "${cluster}" }`;
      const changes = {
        'http_filters:': `http_filters:
                  - name: envoy.filters.http.ext_authz
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz
                      transport_api_version: V3
                      failure_mode_allow: false
                      grpc_service: { envoy_grpc: { ${service('the first')}, timeout: 5s }`,
        'cluster_name: ratelimit }': service('the second'),
        'name: ratelimit\n      connect': `name: "${cluster}"\n      connect`,
        'failure_mode_deny: false': 'failure_mode_deny: true',
      };
      await using proxy = await startEnvoyRateLimit({ ...behind(gateway.grpcPort), changes });
      const agent = newClient();
      const login = () => call(proxy.url, LOGIN, { method: 'POST', agent });
      expect(await statuses(12, login)).toEqual([
        ...Array.from({ length: 5 }, () => 200),
        ...Array.from({ length: 7 }, () => 429),
      ]);
    },
  );

  test.each(ENVOYS)('%s counts logins', async (program) => {
    await using proxy = await startEnvoyRateLimit(behind(gateway.grpcPort), program);
    const agent = newClient();
    expect(await statuses(6, () => call(proxy.url, LOGIN, { agent }))).toEqual([
      200, 200, 200, 200, 200, 429,
    ]);
  });
});

const processEnv = (file: string) => ({
  HEADGATE_GRPC_PORT: '0',
  HEADGATE_RATELIMIT_CONFIG: file,
});
