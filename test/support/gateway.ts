/** Gateway processes, started as users start them. */
import { fileURLToPath } from 'node:url';
import { type RunningProcess, startProcess } from './process.ts';
import { MAIN, NODE } from './tested-command.ts';

export interface Gateway extends RunningProcess {
  /** Of the check server, without a path. */
  readonly url: string;
  readonly opsUrl: string;
  readonly port: number;
  /** Where it answers over gRPC; only with HEADGATE_GRPC_PORT. */
  readonly grpcPort: number;
}

/** Gateways start a third sooner when what Node made of their source is at hand. */
const NODE_COMPILE_CACHE = fileURLToPath(
  new URL('../../node_modules/.cache/headgate', import.meta.url),
);

export async function startGateway(env: NodeJS.ProcessEnv = {}): Promise<Gateway> {
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(HEADGATE_|REDIS_URL$)/.test(name)),
  );
  const started = startProcess(NODE, [MAIN, 'serve'], {
    env: {
      ...inherited,
      NODE_COMPILE_CACHE,
      HEADGATE_PORT: '0',
      HEADGATE_OPS_PORT: '0',
      HEADGATE_GRPC_PORT: 'off',
      HEADGATE_DRAIN_MS: '0',
      ...env,
    },
  });
  const [, url = '', opsUrl = ''] = await started.printed(
    /proxies at (http:\S+) and operators at (http:\S+)[\s\S]*curl .*\n/,
  );
  const grpcUrl = /grpc +(http:\S+)/.exec(started.output())?.[1] ?? 'http://127.0.0.1:0';
  return {
    ...started,
    url,
    opsUrl,
    port: Number(new URL(url).port),
    grpcPort: Number(new URL(grpcUrl).port),
  };
}
