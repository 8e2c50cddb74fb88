/** The rows of the table in docs/proxies.md: each proxy, and how the tests run it. */
import { fileURLToPath } from 'node:url';
import type { ProgramName } from './programs.ts';
import {
  type Behind,
  CADDIES,
  ENVOYS,
  type RunningProxy,
  startCaddy,
  startEnvoy,
  startEnvoyGrpc,
  startNginx,
} from './proxies.ts';
import { proxyStart } from './proxy-starts.ts';

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
