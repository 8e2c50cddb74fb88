/** Real proxies with a small configuration and the parts that `headgate proxy-config --include` prints for it. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import { isNeeded } from '../support/programs.ts';
import { envoyArguments, patient, type RunningProxy, runProxy } from '../support/proxies.ts';
import { proxyConfigOf } from '../support/proxy-config.ts';
import { startUpstream } from '../support/upstream.ts';

const POLICIES = readFileSync(new URL('../../config/policies.yaml', import.meta.url), 'utf8');
const LUA = fileURLToPath(new URL('../../deploy/haproxy/headgate.lua', import.meta.url));
const LOGIN = '/api/auth/login';

interface Ports {
  readonly site: number;
  readonly application: number;
  readonly headgate: number;
  readonly grpc: number;
}

/** The parts by their places. The proxies wait ten seconds for headgate, so that a busy machine changes nothing. */
function partsOf(proxy: string, { application, headgate, grpc }: Ports): (place: string) => string {
  const text = proxyConfigOf(proxy, POLICIES, {
    include: true,
    gateway: { host: '127.0.0.1', port: proxy === 'envoy-grpc' ? grpc : headgate },
    application: { host: '127.0.0.1', port: application },
  });
  const parts = patient(text).split(/^(?=# headgate: part for )/m);
  return (place) => {
    const found = parts.filter((part) => part.startsWith(`# headgate: part for ${place}`));
    if (found.length === 0) throw new Error(`there is no part for ${place}`);
    return found.join('\n');
  };
}

const indented = (text: string, by: number) => text.replaceAll(/^(?=.)/gm, ' '.repeat(by));

const folderFor = (name: string) => mkdtempSync(join(tmpdir(), `headgate-include-${name}-`));

async function startNginx(ports: Ports): Promise<RunningProxy> {
  const part = partsOf('nginx', ports);
  const folder = folderFor('nginx');
  const file = join(folder, 'nginx.conf');
  writeFileSync(
    file,
    `events {}
http {
  ${part('the block http')}
  server {
    listen 127.0.0.1:${ports.site};
    ${part('the block server')}
    location /api/ {
      ${part('each location')}
      proxy_pass http://127.0.0.1:${ports.application};
    }
  }
}`,
  );
  const globals = `daemon off; pid "${join(folder, 'pid')}"; error_log stderr notice;`;
  return runProxy(
    'nginx',
    ['-p', folder, '-c', file, '-e', 'stderr', '-g', globals],
    ports.site,
    folder,
  );
}

const startEnvoyWith = (proxy: 'envoy' | 'envoy-grpc') => async (ports: Ports) => {
  const part = partsOf(proxy, ports);
  const folder = folderFor('envoy');
  const file = join(folder, 'envoy.yaml');
  writeFileSync(
    file,
    `static_resources:
  listeners:
    - name: site
      address: { socket_address: { address: 127.0.0.1, port_value: ${ports.site} } }
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: site
${indented(part('the HTTP connection manager'), 16)}
                route_config:
                  virtual_hosts:
                    - name: site
                      domains: ["*"]
${indented(part('the virtual host'), 22)}
                      routes:
                        - match: { prefix: /api/ }
                          route: { cluster: site }
                http_filters:
${indented(part('http_filters'), 18)}
                  - name: envoy.filters.http.router
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
  clusters:
    - name: site
      type: STATIC
      load_assignment:
        cluster_name: site
        endpoints:
          - lb_endpoints:
              - endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: ${ports.application} } } }
${indented(part('clusters'), 4)}
`,
  );
  return runProxy('envoy', envoyArguments(file), ports.site, folder);
};

const startCaddyWith = (program: 'caddy' | 'caddy-newest') => async (ports: Ports) => {
  const part = partsOf('caddy', ports);
  const folder = folderFor('caddy');
  const file = join(folder, 'Caddyfile');
  writeFileSync(
    file,
    `{
	admin off
	auto_https off
	${part('the global options')}
}
${part('the file, before its sites')}
http://127.0.0.1:${ports.site} {
	${part('the site')}
}`.replaceAll(':8090', `:${await freePort()}`),
  );
  const home = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const args = ['run', '--config', file, '--adapter', 'caddyfile'];
  return runProxy(program, args, ports.site, folder, { ...process.env, ...home });
};

async function startHaproxy(ports: Ports): Promise<RunningProxy> {
  const part = partsOf('haproxy', ports);
  const folder = folderFor('haproxy');
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(
    file,
    `global
${part('the section global').replace('per-thread headgate.lua', `per-thread "${LUA}"`)}
defaults
  mode http
  timeout client 10s
  timeout connect 1s
  timeout server 10s
frontend site
  bind 127.0.0.1:${ports.site}
${part('the frontend')}
  default_backend site
backend site
  server site 127.0.0.1:${ports.application}
${part('the end of the file')}
`.replaceAll('127.0.0.1:8090', `127.0.0.1:${await freePort()}`),
  );
  return runProxy('haproxy', ['-f', file], ports.site, folder);
}

const PROXIES = [
  { name: 'nginx', program: 'nginx', start: startNginx },
  { name: 'envoy', program: 'envoy', start: startEnvoyWith('envoy') },
  { name: 'envoy-grpc', program: 'envoy', start: startEnvoyWith('envoy-grpc') },
  { name: 'caddy', program: 'caddy', start: startCaddyWith('caddy') },
  { name: 'caddy-newest', program: 'caddy-newest', start: startCaddyWith('caddy-newest') },
  { name: 'haproxy', program: 'haproxy', start: startHaproxy },
] as const;

describe.each(PROXIES.filter(({ program }) => isNeeded(program)))(
  '$name',
  ({ name, program, start }) => {
    test.skipIf(inject('programs')[program] === undefined)(
      'denies the sixth login, and refuses logins while the gateway is down',
      async () => {
        await using gateway = await startGateway(
          name === 'envoy-grpc' ? { HEADGATE_GRPC_PORT: '0' } : {},
        );
        await using upstream = await startUpstream();
        const site = await freePort();
        const { port: headgate, grpcPort: grpc } = gateway;
        await using proxy = await start({ site, application: upstream.port, headgate, grpc });
        const login = () => call(proxy.url, LOGIN, { method: 'POST' });
        expect(await statuses(6, login)).toEqual([200, 200, 200, 200, 200, 429]);
        expect(JSON.parse((await login()).body).policy).toBe('login');
        expect(upstream.seen).toHaveLength(5);
        await gateway.stop();
        expect((await login()).status).toBe(503);
        expect((await call(proxy.url, '/api/upload', { method: 'POST' })).status).toBe(200);
      },
    );
  },
);
