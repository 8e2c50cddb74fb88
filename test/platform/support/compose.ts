/** The files of deploy/compose, and its machines without containers: with the same files and settings, on free ports. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { PATIENT, startGatewayProcess } from '../../support/gateway.ts';
import { freePort } from '../../support/ports.ts';
import { accepting, startProcess } from '../../support/process.ts';
import { startNginx } from '../../support/proxies.ts';

export interface Service {
  readonly image?: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly network_mode?: string;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
}

const FOLDER = new URL('../../../deploy/compose/', import.meta.url);

/** The file of a path in compose.yaml. */
export const fileOfCompose = (path: string) => new URL(path, FOLDER);

export const readYaml = (path: string) =>
  parse(readFileSync(fileOfCompose(path), 'utf8'), { merge: true });

export const SERVICES: Readonly<Record<string, Service>> = readYaml('compose.yaml').services;

/** The mounted files of a service, by their paths in its container. */
export function mounts(service: string): ReadonlyMap<string, URL> {
  const volumes = SERVICES[service]?.volumes ?? [];
  return new Map(
    volumes.map((volume) => {
      const [source = '', target = ''] = volume.split(':');
      return [target, fileOfCompose(source)];
    }),
  );
}

export interface Machine extends AsyncDisposable {
  /** URL of its NGINX. */
  readonly url: string;
  readonly opsUrl: string;
}

export async function startMachine(number: number, redisUrl: string): Promise<Machine> {
  await using unlessItStarts = new AsyncDisposableStack();
  const application = await freePort();
  const [, ...args] = SERVICES[`machine-${number}`]?.command ?? [];
  const running = unlessItStarts.use(
    startProcess(
      process.execPath,
      args.map((arg) => arg.replace('3000', String(application))),
      { env: { ...process.env, HOSTNAME: `machine-${number}` } },
    ),
  );
  await accepting(application, running);
  const gateway = unlessItStarts.use(
    await startGatewayProcess({
      ...PATIENT,
      ...SERVICES[`gateway-${number}`]?.environment,
      HEADGATE_OPS_HOST: '127.0.0.1',
      HEADGATE_REDIS_URL: redisUrl,
    }),
  );
  const proxy = unlessItStarts.use(await startNginx({ application, headgate: gateway.port }));
  const started = unlessItStarts.move();
  return {
    url: proxy.url,
    opsUrl: gateway.opsUrl,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}
