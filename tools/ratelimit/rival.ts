/** envoyproxy/ratelimit, to compare headgate with. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../test/support/ports.ts';
import { accepting, type RunningProcess, startProcess } from '../../test/support/process.ts';

export const HOW_TO_GET =
  'Build it from a clone of github.com/envoyproxy/ratelimit: go build -o service_cmd ./src/service_cmd';

export interface Rival extends RunningProcess {
  readonly grpcPort: number;
}

export interface RivalOptions {
  /** Of its program. */
  readonly path: string;
  readonly redisPort: number;
  /** An empty folder for its files. */
  readonly folder: string;
  /** The texts of its files. */
  readonly files: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

export async function startRival(options: RivalOptions): Promise<Rival> {
  const { path, redisPort, folder, files, env = {} } = options;
  const [http, grpcPort, debug] = [await freePort(), await freePort(), await freePort()];
  mkdirSync(join(folder, 'config'), { recursive: true });
  for (const [i, text] of files.entries()) writeFileSync(join(folder, 'config', `${i}.yaml`), text);
  const program = startProcess(path, [], {
    env: {
      ...process.env,
      USE_STATSD: 'false',
      LOG_LEVEL: 'error',
      REDIS_SOCKET_TYPE: 'tcp',
      REDIS_URL: `127.0.0.1:${redisPort}`,
      RUNTIME_ROOT: folder,
      RUNTIME_SUBDIRECTORY: '',
      RUNTIME_APPDIRECTORY: 'config',
      RUNTIME_WATCH_ROOT: 'false',
      ...{ HOST: '127.0.0.1', PORT: String(http) },
      ...{ GRPC_HOST: '127.0.0.1', GRPC_PORT: String(grpcPort) },
      ...{ DEBUG_HOST: '127.0.0.1', DEBUG_PORT: String(debug) },
      ...env,
    },
  });
  await accepting(grpcPort, program);
  return { ...program, grpcPort };
}
