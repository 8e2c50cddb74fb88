/** Envoy with what sites have besides headgate: routes without a check, load balancers, single sign-on, rewrites. */
import { once } from 'node:events';
import { Agent, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call, type HttpCall, statuses } from '../support/http.ts';
import { metric } from '../support/metrics.ts';
import { ENVOYS, startEnvoy, startEnvoyGrpc } from '../support/proxies.ts';
import { answerTo } from '../support/raw-http.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

const LOGIN = '/api/auth/login';
const FIVE = [200, 200, 200, 200, 200];
const AUTHZ = 'type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3';
const ROUTE = '- match: { prefix: / }\n';
const MANAGER = 'use_remote_address: true\n';
const FILTERS = '                http_filters:\n';
const CLUSTERS = '\n  clusters:\n';
const START = { envoy: startEnvoy, 'envoy-grpc': startEnvoyGrpc };

/** A route before all others. */
const withRoute = (route: string) => ({ [ROUTE]: `- ${route}\n                        ${ROUTE}` });
const withKey = (key: string) => ({ [MANAGER]: `${MANAGER}                ${key}\n` });
const setting = (filter: string, value: string) =>
  `typed_per_filter_config: { ${filter}: { "@type": ${AUTHZ}.ExtAuthzPerRoute, ${value} } }`;
const unchecked = (match: string) =>
  withRoute(
    `{ match: { ${match} }, route: { cluster: application }, ${setting('headgate.ext_authz', 'disabled: true')} }`,
  );

const programs = inject('programs');
const stack = new AsyncDisposableStack();
let gateway: Gateway;
let upstream: Upstream;
let clients = 0;

beforeAll(async () => {
  gateway = stack.use(await startGateway({ HEADGATE_GRPC_PORT: '0' }));
  upstream = stack.use(await startUpstream());
});
afterAll(() => stack.disposeAsync());

/** Logs in six times by this path, from another address of this machine. */
function logins(url: string, path = LOGIN, options: HttpCall = {}): Promise<number[]> {
  const agent = new Agent({ localAddress: `127.0.4.${++clients}` });
  return statuses(6, () => call(url, path, { method: 'POST', agent, ...options }));
}

const CASES = ENVOYS.flatMap((program) =>
  (['envoy', 'envoy-grpc'] as const).map((mode) => ({ program, mode })),
);

describe.each(CASES)('$program with the file of $mode', ({ program, mode }) => {
  const testWith = test.skipIf(!(program in programs));
  const start = (changes: Readonly<Record<string, string>>) =>
    START[mode](
      { application: upstream.port, headgate: gateway.port, grpc: gateway.grpcPort, changes },
      program,
    );

  testWith('checks each spelling that does not equal the path of an unchecked route', async () => {
    await using proxy = await start(unchecked('path: /healthz'));
    expect(await statuses(6, () => call(proxy.url, '/healthz'))).toEqual([...FIVE, 200]);
    for (const path of [`/healthz/..${LOGIN}`, `/healthz/%2e%2e${LOGIN}`, `/healthz/..%2f${LOGIN}`])
      expect(await logins(proxy.url, path)).toEqual([...FIVE, 429]);
    expect(upstream.seen.at(-1)?.url).toBe(`/healthz/..%2f${LOGIN}`);
  });

  // headgate doctor warns of the first of these files.
  testWith(
    'checks no spelling below an unchecked prefix, unless Envoy normalizes paths',
    async () => {
      const path = `/files/..%2f${LOGIN.slice(1)}`;
      {
        await using proxy = await start(unchecked('prefix: /files/'));
        expect(await logins(proxy.url, path)).toEqual([...FIVE, 200]);
      }
      const normalized = withKey(
        'normalize_path: true\n                merge_slashes: true\n                path_with_escaped_slashes_action: UNESCAPE_AND_FORWARD',
      );
      await using proxy = await start({ ...unchecked('prefix: /files/'), ...normalized });
      for (const each of [path, `/files/..${LOGIN}`, `/files/%2e%2e${LOGIN}`])
        expect(await logins(proxy.url, each)).toEqual([...FIVE, 429]);
      expect(await statuses(6, () => call(proxy.url, '/files/a'))).toEqual([...FIVE, 200]);
    },
  );

  testWith('leaves a load balancer its headers, and no client the request id', async () => {
    const line =
      mode === 'envoy' ? '- { key: x-headgate-request-id' : '  request_id: x-request-id\n';
    const context = '                            context_extensions:\n';
    await using proxy = await start({
      ...withKey(
        'xff_num_trusted_hops: 1\n                skip_xff_append: true\n                preserve_external_request_id: true',
      ),
      [line]: line.replace(/(?=\S)/, '#'),
      ...(mode === 'envoy-grpc' && { [context]: context.replace(/\n/, ' {}\n') }),
    });
    const repeated = await metric(gateway, 'headgate_repeated_checks_total');
    const headers = {
      'X-Forwarded-For': '203.0.113.9, 198.51.100.7',
      'X-Forwarded-Proto': 'https',
      'X-Request-Id': '11111111-1111-4111-8111-111111111111',
    };
    const address = `198.51.100.${++clients}`;
    const sent = { ...headers, 'X-Forwarded-For': `203.0.113.9, ${address}` };
    expect(await logins(proxy.url, LOGIN, { headers: sent })).toEqual([...FIVE, 429]);
    // Another client behind the same load balancer.
    const other = { ...sent, 'X-Forwarded-For': `${address}, 198.51.100.${100 + clients}` };
    expect((await logins(proxy.url, LOGIN, { headers: other })).at(0)).toBe(200);
    const { headers: seen } = upstream.seen.at(-1) ?? {};
    expect(seen).toMatchObject({
      'x-forwarded-for': other['X-Forwarded-For'],
      'x-forwarded-proto': 'https',
      'x-request-id': headers['X-Request-Id'],
    });
    expect(await metric(gateway, 'headgate_repeated_checks_total')).toBe(repeated);
  });

  testWith(
    'asks another authorizer, too, and settings for it change nothing for headgate',
    async () => {
      const asked: string[] = [];
      const sso = createServer((request, response) => {
        asked.push(request.url ?? '');
        response.writeHead(request.headers.authorization === undefined ? 401 : 200).end();
      });
      await once(sso.listen(0, '127.0.0.1'), 'listening');
      stack.defer(() => void sso.close());
      const { port } = sso.address() as AddressInfo;
      const name = 'envoy.filters.http.ext_authz';
      const changes = {
        ...withRoute(
          `{ match: { path: ${LOGIN} }, route: { cluster: application }, ${setting(name, 'disabled: true')} }`,
        ),
        [FILTERS]: `${FILTERS}                  - { name: ${name}, typed_config: { "@type": ${AUTHZ}.ExtAuthz, transport_api_version: V3, http_service: { server_uri: { uri: http://sso, cluster: sso, timeout: 10s } } } }\n`,
        [CLUSTERS]: `${CLUSTERS}    - { name: sso, type: STATIC, load_assignment: { cluster_name: sso, endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: ${port} } } } }] }] } }\n`,
      };
      await using proxy = await start(changes);
      expect(await logins(proxy.url)).toEqual([...FIVE, 429]);
      expect(asked).toEqual([]);
      const agent = new Agent({ localAddress: `127.0.4.${++clients}` });
      expect((await call(proxy.url, '/a', { agent })).status).toBe(401);
      const headers = { Authorization: 'Bearer x' };
      const { status, headers: answer } = await call(proxy.url, '/a', { agent, headers });
      expect([status, answer['x-ratelimit-limit']]).toEqual([200, '1000']);
      expect(asked).toEqual(['/a', '/a']);
    },
  );

  testWith('ignores a setting for a filter that does not exist', async () => {
    await using proxy = await start(
      withRoute(
        `{ match: { path: ${LOGIN} }, route: { cluster: application }, ${setting('envoy.filters.http.ext_authz', 'disabled: true')} }`,
      ),
    );
    expect(await logins(proxy.url)).toEqual([...FIVE, 429]);
  });

  // headgate doctor warns of both files.
  testWith('does not see what an upgrade with its own filters passes', async () => {
    const upgrade = '[{ upgrade_type: websocket }]';
    const router =
      '{ name: envoy.filters.http.router, typed_config: { "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router } }';
    await using proxy = await start({
      [upgrade]: `[{ upgrade_type: websocket, filters: [${router}] }]`,
    });
    const headers = { Upgrade: 'websocket', Connection: 'Upgrade' };
    expect(await logins(proxy.url, LOGIN, { headers })).toEqual([...FIVE, 200]);
  });

  testWith('checks the path before a rewrite, or the policy that the route names', async () => {
    const rewritten = (more = '') =>
      withRoute(
        `{ match: { prefix: /old/ }, route: { cluster: application, prefix_rewrite: /api/auth/ }${more} }`,
      );
    {
      await using proxy = await start(rewritten());
      expect(await logins(proxy.url, '/old/login')).toEqual([...FIVE, 200]);
      expect(upstream.seen.at(-1)?.url).toBe(LOGIN);
    }
    // Over HTTP a route cannot name its policy.
    if (mode === 'envoy') return;
    const named = setting(
      'headgate.ext_authz',
      'check_settings: { context_extensions: { policy: login } }',
    );
    await using proxy = await start(rewritten(`, ${named}`));
    expect(await logins(proxy.url, '/old/login')).toEqual([...FIVE, 429]);
    for (const path of ['//old/login', '/%6fld/login', '/old/../old/login'])
      await answerTo(proxy.url, `POST ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    expect(upstream.seen.slice(-3).map(({ url }) => url)).not.toContain(LOGIN);
  });
});
