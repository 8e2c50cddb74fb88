/** A client of gRPC behind Envoy: what it sees of a denial, and of a gateway that is down. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type ServiceError, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import { ENVOYS, startEnvoy, startEnvoyGrpc, startEnvoyRateLimit } from '../support/proxies.ts';
import { proxyConfigOf } from '../support/proxy-config.ts';
import { startRateLimitGateway } from '../support/rate-limits.ts';
import { temporaryFolder } from '../support/temporary.ts';
import {
  grpcCaller,
  HTTP_2,
  ORDER_PATH,
  startGrpcApplication,
} from './support/grpc-application.ts';

const POLICIES = `version: 1
identity: { sources: [ip], trusted_proxies: [loopback] }
default: { limits: [1000/1h] }
policies:
  - { name: orders, match: { method: POST, path: /shop.Orders/* }, limits: [2/1h], on_gateway_failure: deny }
`;
/** Of the rate limit service. */
const RULES = `domain: edge
descriptors: [{ key: remote_address, rate_limit: { unit: hour, requests_per_unit: 2 } }]
`;
const EXHAUSTED = 'rate_limited_as_resource_exhausted: true';
const START = { envoy: startEnvoy, 'envoy-grpc': startEnvoyGrpc };
/** Where a filter of the site may be. */
const FIRST = '                http_filters:\n';
const LAST =
  '                  # headgate: end of part\n                  - name: envoy.filters.http.router';
const CLUSTERS = '\n  clusters:\n';
const AUTHZ = 'type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz';

function authorizer(place: string, port: number): Readonly<Record<string, string>> {
  const filter = `                  - { name: sso, typed_config: { "@type": ${AUTHZ}, transport_api_version: V3, http_service: { server_uri: { uri: http://sso, cluster: sso, timeout: 10s } } } }\n`;
  const cluster = `    - { name: sso, type: STATIC, load_assignment: { cluster_name: sso, endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: ${port} } } } }] }] } }\n`;
  const found = place === FIRST ? `${FIRST}${filter}` : LAST.replace('\n', `\n${filter}`);
  return { [place]: found, [CLUSTERS]: `${CLUSTERS}${cluster}` };
}

/**
 * Changes of the files after which Envoy configures the check as Istio, Envoy Gateway and Contour have it: without mappers,
 * and with the type of the request. Over HTTP, Envoy passes on named headers of a denial only.
 */
const TYPE_SHOWN = {
  '# headgate: client headers\n':
    '# headgate: client headers\n                          - { exact: content-type }\n',
};
const AS_OTHERS = {
  envoy: {
    ...TYPE_SHOWN,
    '- { prefix: retry-after, ignore_case: true }':
      '- { prefix: retry-after, ignore_case: true }\n                              - { exact: grpc-status }',
  },
  'envoy-grpc': TYPE_SHOWN,
};
const withoutMappers = (text: string) =>
  text.replace(/ {16}local_reply_config:\n.*?(?= {16}# headgate: end of part)/s, '');

const programs = inject('programs');
const stack = new AsyncDisposableStack();
let policies: string;
let application: number;

beforeAll(async () => {
  const folder = temporaryFolder(stack);
  policies = join(folder, 'policies.yaml');
  writeFileSync(policies, POLICIES);
  application = stack.use(await startGrpcApplication()).port;
});
afterAll(() => stack.disposeAsync());

const CASES = ENVOYS.flatMap((program) =>
  (['envoy', 'envoy-grpc'] as const).map((mode) => ({ program, mode })),
);

describe.each(CASES)('a client of gRPC behind $program with the file of $mode', (given) => {
  const { program, mode } = given;
  const testWith = test.skipIf(!(program in programs));

  async function open(
    using: AsyncDisposableStack,
    gateway: Pick<Gateway, 'port' | 'grpcPort'>,
    more: Readonly<Record<string, string>> = {},
    text = proxyConfigOf(mode, POLICIES),
  ) {
    const behind = { application, headgate: gateway.port, grpc: gateway.grpcPort };
    const changes = { ...HTTP_2, ...more };
    const proxy = using.use(await START[mode]({ ...behind, text, changes }, program));
    return { proxy, client: using.use(grpcCaller(proxy)) };
  }

  testWith('gets RESOURCE_EXHAUSTED with the reason for a denial', async () => {
    await using own = new AsyncDisposableStack();
    const env = { HEADGATE_POLICIES: policies, HEADGATE_GRPC_PORT: '0' };
    const gateway = own.use(await startGateway(env));
    const { proxy, client } = await open(own, gateway);
    expect([await client.order(), await client.order()]).toEqual(['done', 'done']);
    const denied = (await client.order()) as ServiceError;
    expect(denied.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(JSON.parse(denied.details)).toMatchObject({ policy: 'orders' });
    expect(denied.metadata.getMap()).toMatchObject({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '0',
      'retry-after': expect.stringMatching(/^\d+$/),
    });
    // A client of HTTP sees the denial as ever.
    const plain = await call(proxy.url, ORDER_PATH, { method: 'POST' });
    expect([plain.status, plain.headers['grpc-status']]).toEqual([429, undefined]);
  });

  testWith(
    'gets RESOURCE_EXHAUSTED without the mappers if headgate sees that it is one',
    async () => {
      await using own = new AsyncDisposableStack();
      const env = { HEADGATE_POLICIES: policies, HEADGATE_GRPC_PORT: '0' };
      const gateway = own.use(await startGateway(env));
      const text = withoutMappers(proxyConfigOf(mode, POLICIES));
      expect(text).not.toContain('mappers');
      for (const [changes, code] of [
        [AS_OTHERS[mode], status.RESOURCE_EXHAUSTED],
        [{}, status.UNAVAILABLE],
      ] as const) {
        const { proxy, client } = await open(own, gateway, changes, text);
        const answers = [await client.order(), await client.order(), await client.order()];
        const denied = answers[2] as ServiceError;
        expect(denied.code).toBe(code);
        expect(JSON.parse(denied.details)).toMatchObject({ policy: 'orders' });
        const plain = await call(proxy.url, ORDER_PATH, { method: 'POST' });
        expect([plain.status, plain.headers['grpc-status']]).toEqual([429, undefined]);
      }
    },
  );

  testWith.each([
    ['before', FIRST],
    ['after', LAST],
  ])(
    'gets from an authorizer of the site, %s headgate, what it gets without headgate',
    async (_, place) => {
      await using own = new AsyncDisposableStack();
      const sso = createServer((_, response) => response.writeHead(429).end('too many')).listen(
        0,
        '127.0.0.1',
      );
      await once(sso, 'listening');
      own.defer(() => void sso.close());
      const { port } = sso.address() as AddressInfo;
      const gateway = own.use(
        await startGateway({ HEADGATE_POLICIES: policies, HEADGATE_GRPC_PORT: '0' }),
      );
      const { client } = await open(own, gateway, authorizer(place, port));
      const denied = (await client.order()) as ServiceError;
      expect([denied.code, denied.details]).toEqual([status.UNAVAILABLE, 'too many']);
    },
  );

  testWith('gets UNAVAILABLE from a route that is refused without the gateway', async () => {
    await using own = new AsyncDisposableStack();
    const { client } = await open(own, { port: await freePort(), grpcPort: await freePort() });
    const refused = (await client.order()) as ServiceError;
    expect(refused.code).toBe(status.UNAVAILABLE);
    expect(JSON.parse(refused.details)).toMatchObject({ error: 'gateway_unavailable' });
  });
});

describe.each(ENVOYS)('a client of gRPC behind the rate limit filter of %s', (program) => {
  test.skipIf(!(program in programs)).each([
    ['of the file', {}, status.RESOURCE_EXHAUSTED],
    ["without the file's line for gRPC", { [EXHAUSTED]: '' }, status.UNAVAILABLE],
  ])('gets the reason for a denial with the code %s', async (_, changes, code) => {
    await using own = new AsyncDisposableStack();
    const gateway = own.use(await startRateLimitGateway(RULES));
    const behind = { application, headgate: 0, grpc: gateway.grpcPort };
    const proxy = own.use(
      await startEnvoyRateLimit({ ...behind, changes: { ...HTTP_2, ...changes } }, program),
    );
    const client = own.use(grpcCaller(proxy));
    expect([await client.order(), await client.order()]).toEqual(['done', 'done']);
    const denied = (await client.order()) as ServiceError;
    expect(denied.code).toBe(code);
    expect(JSON.parse(denied.details)).toMatchObject({ policy: 'edge.remote_address' });
    expect(denied.metadata.getMap()).toMatchObject({
      'x-ratelimit-remaining': '0',
      'retry-after': expect.stringMatching(/^\d+$/),
    });
    const plain = await call(proxy.url, ORDER_PATH, { method: 'POST' });
    expect([plain.status, plain.headers['grpc-status']]).toEqual([429, undefined]);
  });
});
