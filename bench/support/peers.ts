/** Limiters of others that are programs of their own. A table has them if they are on the PATH. */
import { delimiter, join } from 'node:path';
import { freePort } from '../../test/support/ports.ts';
import { isExecutable } from '../../test/support/programs.ts';
import { RATE_LIMIT_DOMAIN, RATE_LIMIT_KEY } from './grpc-messages.ts';
import type { Lab, RedisServer, Server } from './lab.ts';
import { closedLoop, type Load } from './load.ts';
import type { Contestant } from './rounds.ts';

export interface Peer extends Contestant {
  /** What it counts. */
  readonly counts: string;
}

const FIXED = 'a fixed window';
/** How `go install` and `cargo install` name the programs. */
const ENVOY_RATELIMIT = 'service_cmd';
const LIMITADOR = 'limitador-server';
const THROTTLECRAB = 'throttlecrab-server';

const RATELIMIT_RULES = `domain: ${RATE_LIMIT_DOMAIN}
descriptors: [{ key: ${RATE_LIMIT_KEY}, rate_limit: { unit: hour, requests_per_unit: 1000000 } }]
`;
const LIMITADOR_RULES = `- namespace: ${RATE_LIMIT_DOMAIN}
  max_value: 1000000
  seconds: 3600
  conditions: []
  variables: ["descriptors[0].${RATE_LIMIT_KEY}"]
`;

/** Undefined, after a line that says so, if the program is not on the PATH. */
function installed(program: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = folders.map((folder) => join(folder, program)).find(isExecutable);
  if (found === undefined) {
    console.log(
      `Without ${program}, which is not on the PATH: bench/README.md says how to get it.\n`,
    );
  }
  return found;
}

/** Those that answer Envoy's rate limit service. `load` calls it. */
export async function grpcPeers(lab: Lab, load: Load): Promise<Peer[]> {
  const peers: Peer[] = [];
  const ratelimit = installed(ENVOY_RATELIMIT);
  if (ratelimit !== undefined) {
    // It uses no other database than the first.
    const redis = await lab.redis();
    const start = () => startEnvoyRatelimit(lab, redis, { program: ratelimit });
    peers.push({ name: 'gRPC: envoyproxy/ratelimit, Redis', counts: FIXED, start, redis, load });
  }
  const limitador = installed(LIMITADOR);
  if (limitador !== undefined) {
    for (const [storage, counts] of [
      ['redis', FIXED],
      ['redis_cached', `${FIXED}, inexact`],
    ] as const) {
      const redis = await lab.redis();
      const start = () => startLimitador(lab, limitador, [storage, redis.url()]);
      peers.push({ name: `gRPC: limitador, ${storage}`, counts, start, redis, load });
    }
    const start = () => startLimitador(lab, limitador, ['memory']);
    peers.push({ name: 'gRPC: limitador, memory', counts: FIXED, start, load });
  }
  return peers;
}

/** Those that answer over HTTP. */
export function httpPeers(lab: Lab, clients: number): Peer[] {
  const throttlecrab = installed(THROTTLECRAB);
  if (throttlecrab === undefined) return [];
  const start = async () => {
    const port = await freePort();
    const args = ['--http', '--http-host', '127.0.0.1', '--http-port', String(port)];
    return lab.program(throttlecrab, { args, port, path: '/throttle' });
  };
  const load = closedLoop({ clients, isThrottlecrab: true });
  return [{ name: 'HTTP: throttlecrab, memory', counts: 'GCRA (a token bucket)', start, load }];
}

function startLimitador(lab: Lab, program: string, storage: readonly string[]): Promise<Server> {
  return Promise.all([freePort(), freePort()]).then(([http, port]) => {
    const rules = join(lab.folder({ 'limits.yaml': LIMITADOR_RULES }), 'limits.yaml');
    const addresses = ['--rls-ip', '127.0.0.1', '--rls-port', String(port)];
    const own = ['--http-ip', '127.0.0.1', '--http-port', String(http)];
    return lab.program(program, { args: [...addresses, ...own, rules, ...storage], port });
  });
}

/** Counts in the given Redis, with the settings that it has by default. `files`: by their names. */
export async function startEnvoyRatelimit(
  lab: Lab,
  redis: RedisServer,
  {
    program,
    files = { 'bench.yaml': RATELIMIT_RULES },
  }: { readonly program: string; readonly files?: Readonly<Record<string, string>> },
): Promise<Server> {
  const [http, port, debug] = [await freePort(), await freePort(), await freePort()];
  const env = {
    USE_STATSD: 'false',
    LOG_LEVEL: 'warn',
    REDIS_SOCKET_TYPE: 'tcp',
    REDIS_URL: `127.0.0.1:${redis.port}`,
    // It reads the files of ROOT/SUBDIRECTORY/APPDIRECTORY, and an empty subdirectory is none.
    RUNTIME_ROOT: lab.folder(files),
    RUNTIME_APPDIRECTORY: '.',
    RUNTIME_WATCH_ROOT: 'false',
    ...{ HOST: '127.0.0.1', PORT: String(http) },
    ...{ GRPC_HOST: '127.0.0.1', GRPC_PORT: String(port) },
    ...{ DEBUG_HOST: '127.0.0.1', DEBUG_PORT: String(debug) },
  };
  return lab.program(program, { env, port });
}
