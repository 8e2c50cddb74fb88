/** envoyproxy/ratelimit, if it is on the PATH: the rate limit service of Envoy's own project, written in Go. */
import { delimiter, join } from 'node:path';
import { freePort } from '../../test/support/ports.ts';
import { isExecutable } from '../../test/support/programs.ts';
import { RATE_LIMIT_DOMAIN, RATE_LIMIT_KEY } from './grpc-messages.ts';
import type { Lab, RedisServer, Server } from './lab.ts';

export const HOW_TO_INSTALL =
  'go install github.com/envoyproxy/ratelimit/src/service_cmd@latest, and put its folder on the PATH';

/** As `go install` names it. */
const PROGRAM = 'service_cmd';
const CONFIG = `domain: ${RATE_LIMIT_DOMAIN}
descriptors: [{ key: ${RATE_LIMIT_KEY}, rate_limit: { unit: hour, requests_per_unit: 1000000 } }]
`;

/** Undefined if it is not installed. */
export function installedEnvoyRatelimit(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.map((folder) => join(folder, PROGRAM)).find(isExecutable);
}

/** Counts in the given Redis, with the settings that it has by default. `files`: by their names. */
export async function startEnvoyRatelimit(
  lab: Lab,
  redis: RedisServer,
  {
    program,
    files = { 'bench.yaml': CONFIG },
  }: { readonly program: string; readonly files?: Readonly<Record<string, string>> },
): Promise<Server> {
  const [http, grpc, debug] = [await freePort(), await freePort(), await freePort()];
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
    ...{ GRPC_HOST: '127.0.0.1', GRPC_PORT: String(grpc) },
    ...{ DEBUG_HOST: '127.0.0.1', DEBUG_PORT: String(debug) },
  };
  return lab.program(program, env, grpc);
}
