/** How the tests start each proxy of the table in src/gateway/dialects, with the files of deploy/. */

import { fileURLToPath } from 'node:url';
import { startApisix } from './apisix.ts';
import { startIngressNginx } from './ingress-nginx.ts';
import type { ProgramName, Programs } from './programs.ts';
import {
  type Behind,
  CADDIES,
  ENVOYS,
  type RunningProxy,
  startCaddy,
  startEnvoy,
  startEnvoyGrpc,
  startHaproxy,
  startNginx,
} from './proxies.ts';
import { startTraefikOrReplay } from './traefik.ts';

export interface ProxyStart {
  /** Of the dialect. */
  readonly name: string;
  /** Undefined if the tests can always start it. */
  readonly program: ProgramName | undefined;
  readonly start: (behind: Behind) => Promise<RunningProxy>;
}

/** Whether the tests can start it here. */
export function isHere({ program }: Pick<ProxyStart, 'program'>, programs: Programs): boolean {
  return program === undefined || programs[program] !== undefined;
}

export const PROXY_STARTS: readonly ProxyStart[] = [
  { name: 'nginx', program: 'nginx', start: startNginx },
  { name: 'envoy', program: 'envoy', start: startEnvoy },
  { name: 'envoy-grpc', program: 'envoy', start: startEnvoyGrpc },
  { name: 'caddy', program: 'caddy', start: startCaddy },
  { name: 'haproxy', program: 'haproxy', start: startHaproxy },
  { name: 'traefik', program: undefined, start: startTraefikOrReplay },
  { name: 'ingress-nginx', program: 'nginx', start: startIngressNginx },
  { name: 'apisix', program: 'nginx-lua', start: startApisix },
];

/** Other files test these, because their clients get less: no headers of an allow, or no 429 without snippets. */
const TESTED_ELSEWHERE = ['traefik', 'ingress-nginx'];

/** Proxies whose clients get the status, headers and body of every answer. */
export const COMPLETE_PROXIES = PROXY_STARTS.filter(({ name }) => !TESTED_ELSEWHERE.includes(name));

export function proxyStart(name: string): ProxyStart {
  const found = PROXY_STARTS.find((each) => each.name === name);
  if (found === undefined) throw new Error(`the tests start no proxy called ${name}`);
  return found;
}

/** A row of the table in docs/proxies.md: a proxy, and how the tests run it. */
export interface ProxyRow {
  readonly proxy: string;
  /** Undefined if the tests can always start it. */
  readonly program: ProgramName | undefined;
  readonly tested: string;
  /** If it is not the version of the program. */
  readonly version?: string;
  readonly start: (behind: Behind) => Promise<RunningProxy>;
  readonly isGrpc?: true;
}

const CLOUDFLARE = fileURLToPath(new URL('../../deploy/nginx/cloudflare.conf', import.meta.url));
/** The tests connect from loopback, in place of Cloudflare. */
const BEHIND_CLOUDFLARE = {
  '#include cloudflare.conf;': `include "${CLOUDFLARE}"; set_real_ip_from 127.0.0.1;`,
};

export const PROXY_ROWS: readonly ProxyRow[] = [
  { ...proxyStart('nginx'), proxy: 'NGINX', tested: 'its file' },
  {
    proxy: 'NGINX behind Cloudflare',
    program: 'nginx',
    tested: 'its file, with cloudflare.conf',
    start: (behind) => startNginx({ ...behind, changes: BEHIND_CLOUDFLARE }),
  },
  ...ENVOYS.flatMap((program): ProxyRow[] => [
    {
      proxy: 'Envoy, HTTP',
      program,
      tested: 'its file',
      start: (behind) => startEnvoy(behind, program),
    },
    {
      proxy: 'Envoy, gRPC',
      program,
      tested: 'its file',
      start: (behind) => startEnvoyGrpc(behind, program),
      isGrpc: true,
    },
  ]),
  ...CADDIES.map((program): ProxyRow => {
    const start = (behind: Behind) => startCaddy(behind, program);
    return { proxy: 'Caddy', program, tested: 'its file', start };
  }),
  { ...proxyStart('haproxy'), proxy: 'HAProxy', tested: 'its file' },
  {
    ...proxyStart('traefik'),
    proxy: 'Traefik',
    version: '3.7.13',
    tested: 'its files, by Traefik where it is installed, else by a replay of it',
  },
  {
    ...proxyStart('ingress-nginx'),
    proxy: 'ingress-nginx',
    tested: 'its snippets, in NGINX as the controller 1.15.1 configures it',
  },
  {
    ...proxyStart('apisix'),
    proxy: 'APISIX',
    version: '3.18.0',
    tested: 'its files, in NGINX with Lua and a replay of its plugins',
  },
];
