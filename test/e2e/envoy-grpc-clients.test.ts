/** A client of gRPC behind Envoy: what it sees of a denial, and of a gateway that is down. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import {
  Client,
  credentials,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import { ENVOYS, startEnvoy, startEnvoyGrpc } from '../support/proxies.ts';
import { proxyConfigOf } from '../support/proxy-config.ts';
import { temporaryFolder } from '../support/temporary.ts';

const POLICIES = `version: 1
identity: { sources: [ip], trusted_proxies: [loopback] }
default: { limits: [1000/1h] }
policies:
  - { name: orders, match: { method: POST, path: /shop.Orders/* }, limits: [2/1h], on_gateway_failure: deny }
`;
const START = { envoy: startEnvoy, 'envoy-grpc': startEnvoyGrpc };
/** The application speaks HTTP/2 only. */
const CLUSTER = '      connect_timeout: 1s\n';
const HTTP_2 = {
  [CLUSTER]: `${CLUSTER}      typed_extension_protocol_options:
        envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
          "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
          explicit_http_config: { http2_protocol_options: {} }
`,
};
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

const bytes = (value: Buffer) => value;
const ORDER: MethodDefinition<Buffer, Buffer> = {
  path: '/shop.Orders/Order',
  requestStream: false,
  responseStream: false,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
};

const programs = inject('programs');
const stack = new AsyncDisposableStack();
let policies: string;
let application: number;

beforeAll(async () => {
  const folder = temporaryFolder(stack);
  policies = join(folder, 'policies.yaml');
  writeFileSync(policies, POLICIES);
  const server = new Server();
  server.addService(
    { order: ORDER },
    { order: (_: unknown, answer: Answer) => answer(null, DONE) },
  );
  stack.defer(() => server.forceShutdown());
  application = await new Promise<number>((resolve, reject) => {
    const local = ServerCredentials.createInsecure();
    server.bindAsync('127.0.0.1:0', local, (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
});
afterAll(() => stack.disposeAsync());

type Answer = (error: null, value: Buffer) => void;
const DONE = Buffer.from('done');

/** What the client gets: the message, or the error. */
function order(client: Client): Promise<string | ServiceError> {
  return new Promise((resolve) => {
    client.makeUnaryRequest(ORDER.path, bytes, bytes, Buffer.from('one'), (error, value) =>
      resolve(error ?? String(value)),
    );
  });
}

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
  ) {
    const text = proxyConfigOf(mode, POLICIES);
    const behind = { application, headgate: gateway.port, grpc: gateway.grpcPort };
    const changes = { ...HTTP_2, ...more };
    const proxy = using.use(await START[mode]({ ...behind, text, changes }, program));
    const client = new Client(new URL(proxy.url).host, credentials.createInsecure());
    using.defer(() => client.close());
    return { proxy, client };
  }

  testWith('gets RESOURCE_EXHAUSTED with the reason for a denial', async () => {
    await using own = new AsyncDisposableStack();
    const env = { HEADGATE_POLICIES: policies, HEADGATE_GRPC_PORT: '0' };
    const gateway = own.use(await startGateway(env));
    const { proxy, client } = await open(own, gateway);
    expect([await order(client), await order(client)]).toEqual(['done', 'done']);
    const denied = (await order(client)) as ServiceError;
    expect(denied.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(JSON.parse(denied.details)).toMatchObject({ policy: 'orders' });
    expect(denied.metadata.getMap()).toMatchObject({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '0',
      'retry-after': expect.stringMatching(/^\d+$/),
    });
    // A client of HTTP sees the denial as ever.
    const plain = await call(proxy.url, ORDER.path, { method: 'POST' });
    expect([plain.status, plain.headers['grpc-status']]).toEqual([429, undefined]);
  });

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
      const denied = (await order(client)) as ServiceError;
      expect([denied.code, denied.details]).toEqual([status.UNAVAILABLE, 'too many']);
    },
  );

  testWith('gets UNAVAILABLE from a route that is refused without the gateway', async () => {
    await using own = new AsyncDisposableStack();
    const { client } = await open(own, { port: await freePort(), grpcPort: await freePort() });
    const refused = (await order(client)) as ServiceError;
    expect(refused.code).toBe(status.UNAVAILABLE);
    expect(JSON.parse(refused.details)).toMatchObject({ error: 'gateway_unavailable' });
  });
});
