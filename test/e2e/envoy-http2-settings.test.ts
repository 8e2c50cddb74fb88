/**
 * Envoy's checks over gRPC with several settings of HTTP/2: from no table and the smallest windows to the largest, with
 * pings, over clear text and TLS. Each setting has its own listener, so that one Envoy has them all.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createAuthority } from '../support/certificates.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import { ENVOYS, envoyArguments, type RunningProgram, runProxy } from '../support/proxies.ts';

const LIMIT = 300;
const LARGE_BYTES = 400 * 1024;
const LARGEST_WINDOW = 2 ** 31 - 1;
const SETTINGS = {
  smallest: {
    max_concurrent_streams: 1,
    initial_stream_window_size: 65_535,
    initial_connection_window_size: 65_535,
    hpack_table_size: 0,
  },
  usual: {},
  pinging: {
    hpack_table_size: 4_096,
    connection_keepalive: { interval: '0.02s', timeout: '30s' },
  },
  largest: {
    max_concurrent_streams: LARGEST_WINDOW,
    initial_stream_window_size: LARGEST_WINDOW,
    initial_connection_window_size: LARGEST_WINDOW,
    hpack_table_size: 65_536,
  },
};
const NAMES = Object.keys(SETTINGS);
const POLICIES = `version: 1
identity: { sources: [ip], trusted_proxies: [loopback] }
default: { limits: [1000/1h] }
policies:
${NAMES.map((name) => `  - { name: ${name}, match: { path: /${name} }, limits: [${LIMIT}/1h] }`).join('\n')}
`;

const programs = inject('programs');
const stack = new AsyncDisposableStack();
const scratch = mkdtempSync(join(tmpdir(), 'headgate-envoy-http2-'));
stack.defer(() => rmSync(scratch, { recursive: true }));
const agent = new Agent({ keepAlive: true, maxSockets: 32 });
stack.defer(() => agent.destroy());
const { caFile, issue } = createAuthority(scratch);
const { certificate, key } = issue('gateway');
const TLS = { HEADGATE_GRPC_TLS_CERT: certificate, HEADGATE_GRPC_TLS_KEY: key };
const policies = join(scratch, 'policies.yaml');
writeFileSync(policies, POLICIES);
afterAll(() => stack.disposeAsync());

const CASES = ENVOYS.flatMap((program) =>
  (['clear text', 'TLS'] as const).map((over) => ({ program, over })),
);

describe.each(CASES)('$program over $over', ({ program, over }) => {
  let gateway: Gateway;
  let envoy: RunningProgram;
  const ports = new Map<string, number>();
  const isHere = program in programs;

  beforeAll(async () => {
    if (!isHere) return;
    const env = {
      HEADGATE_GRPC_PORT: '0',
      HEADGATE_POLICIES: policies,
      ...(over === 'TLS' && TLS),
    };
    gateway = stack.use(await startGateway(env));
    for (const name of NAMES) ports.set(name, await freePort());
    const config = configOf(ports, gateway.grpcPort, over === 'TLS' ? caFile : undefined);
    const folder = mkdtempSync(join(tmpdir(), 'headgate-envoy-http2-'));
    const file = join(folder, 'envoy.json');
    writeFileSync(file, JSON.stringify(config));
    const port = ports.get(NAMES.at(-1) ?? '') ?? 0;
    envoy = stack.use(await runProxy(program, envoyArguments(file), port, folder));
  });

  test.skipIf(!isHere).each(NAMES)('%s settings: every check gets its answer', async (name) => {
    const url = `http://127.0.0.1:${ports.get(name)}`;
    const sent = Array.from({ length: LIMIT + 100 }, () => call(url, `/${name}`, { agent }));
    const counts = new Map<number, number>();
    for (const { status } of await Promise.all(sent)) {
      counts.set(status, (counts.get(status) ?? 0) + 1);
    }
    expect(Object.fromEntries(counts), envoy.output()).toEqual({ 200: LIMIT, 429: 100 });
    const large = { method: 'POST', body: Buffer.alloc(LARGE_BYTES, 'a'), agent };
    const answers = await Promise.all(Array.from({ length: 8 }, () => call(url, '/large', large)));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
  });
});

/** A listener and a cluster for each of the settings. A check that gets no answer becomes a 503. */
function configOf(ports: ReadonlyMap<string, number>, grpcPort: number, ca: string | undefined) {
  return {
    static_resources: {
      listeners: [...ports].map(([name, port]) => ({
        name,
        address: socketAddress(port),
        per_connection_buffer_limit_bytes: 4 * LARGE_BYTES,
        filter_chains: [{ filters: [connectionManager(name)] }],
      })),
      clusters: Object.entries(SETTINGS).map(([name, settings]) => cluster(name, settings)),
    },
  };

  function connectionManager(name: string) {
    const response = { direct_response: { status: 200 } };
    const routes = [{ match: { prefix: '/' }, ...response }];
    return {
      name: 'envoy.filters.network.http_connection_manager',
      typed_config: {
        '@type': typeOf('network.http_connection_manager.v3.HttpConnectionManager', 'filters'),
        stat_prefix: name,
        use_remote_address: true,
        route_config: { virtual_hosts: [{ name, domains: ['*'], routes }] },
        http_filters: [authorization(name), ROUTER],
      },
    };
  }

  function authorization(name: string) {
    return {
      name: 'headgate.ext_authz',
      typed_config: {
        '@type': typeOf('http.ext_authz.v3.ExtAuthz', 'filters'),
        transport_api_version: 'V3',
        status_on_error: { code: 503 },
        with_request_body: { max_request_bytes: LARGE_BYTES, pack_as_bytes: true },
        grpc_service: { envoy_grpc: { cluster_name: name }, timeout: '30s' },
      },
    };
  }

  function cluster(name: string, settings: object) {
    return {
      name,
      type: 'STATIC',
      connect_timeout: '10s',
      circuit_breakers: { thresholds: [{ max_pending_requests: 10_000, max_requests: 10_000 }] },
      typed_extension_protocol_options: {
        'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
          '@type': typeOf('http.v3.HttpProtocolOptions', 'upstreams'),
          explicit_http_config: { http2_protocol_options: settings },
        },
      },
      load_assignment: {
        cluster_name: name,
        endpoints: [{ lb_endpoints: [{ endpoint: { address: socketAddress(grpcPort) } }] }],
      },
      ...(ca !== undefined && {
        transport_socket: {
          name: 'envoy.transport_sockets.tls',
          typed_config: {
            '@type': typeOf('tls.v3.UpstreamTlsContext', 'transport_sockets'),
            sni: 'localhost',
            common_tls_context: { validation_context: { trusted_ca: { filename: ca } } },
          },
        },
      }),
    };
  }
}

const typeOf = (name: string, kind: string) =>
  `type.googleapis.com/envoy.extensions.${kind}.${name}`;
const ROUTER = {
  name: 'envoy.filters.http.router',
  typed_config: { '@type': typeOf('http.router.v3.Router', 'filters') },
};
const socketAddress = (port_value: number) => ({
  socket_address: { address: '127.0.0.1', port_value },
});
