/** A site of HAProxy with the defaults that sites have, and the parts of headgate put in as the quickstart says. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { partsFor } from '../../../src/cli/proxy-files/print/regions.ts';
import { freePort } from '../../support/ports.ts';
import { patient, type RunningProxy, runProxy, withHaproxyAction } from '../../support/proxies.ts';
import { proxyConfigOf } from '../../support/proxy-config.ts';

/** Whatever a backend of headgate inherited from these lines would disturb it. */
const SITE = `global
  maxconn 3000

defaults site
  mode http
  log stdout format raw local0 info
  option httplog
  option httpchk GET /healthz
  option forwardfor
  option redispatch
  option http-buffer-request
  option h1-case-adjust-bogus-server
  option http-no-delay
  option originalto
  option log-health-checks
  retries 3
  balance source
  maxconn 1500
  fullconn 1000
  cookie SERVER insert indirect nocache
  compression algo gzip
  compression type text/html
  http-reuse never
  http-send-name-header X-Server-Name
  unique-id-format site-%[src]
  unique-id-header X-Unique-ID
  stats uri /haproxy
  monitor-uri /alive
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  timeout queue 20s
  timeout check 20s
  timeout http-request 10s
  timeout http-keep-alive 15s
  errorfile 503 FOLDER/503.http
  errorfile 403 FOLDER/403.http
  default-server check inter 500ms fall 1 rise 1 cookie first weight 5 maxconn 500 on-marked-down shutdown-sessions

userlist staff
  user ann insecure-password pw

defaults visits from site
  http-request set-header X-Site-Default request
  http-response set-header X-Site-Default response
  http-after-response set-header X-Site-After yes

frontend site
  maxconn 1000
  bind 127.0.0.1:PORT
  acl is_static path_beg /static
  http-request redirect code 301 location /folder/ if { path /folder }
  http-request auth realm staff if { path_beg /staff } !{ http_auth(staff) }
  http-request return status 200 content-type text/plain string "hello\\n" if { path /hello }
  http-request deny if { path_beg /forbidden }
  http-request set-path /thing if { path /rewritten }
  http-request set-header X-Forwarded-Proto http unless { req.hdr(X-Forwarded-Proto) -m found }
  http-response set-header Strict-Transport-Security max-age=60
  http-response replace-header Location (.*)/elsewhere(.*) \\1/moved\\2
  http-response return status 404 content-type text/html string "own page\\n" if { status 404 }
  use_backend static if is_static
  use_backend nothing if { path_beg /nothing }
  default_backend application

defaults applications from site

backend application
  server application 127.0.0.1:APPLICATION port HEALTH

backend static
  http-request replace-path /static(/.*) \\1
  http-response cache-store pages
  http-request cache-use pages
  server application 127.0.0.1:APPLICATION port HEALTH

cache pages
  total-max-size 4
  max-age 60

backend nothing
`;

const PAGE = (status: string) =>
  `HTTP/1.1 ${status}\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\nown page\n`;

interface SitePorts {
  readonly application: number;
  /** Where the application answers health checks, so that they are not among its requests. */
  readonly health: number;
  /** Without it, the site has no headgate. */
  readonly headgate?: number;
  readonly policies?: string;
}

export async function startHaproxySite(ports: SitePorts): Promise<RunningProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-haproxy-site-'));
  writeFileSync(join(folder, '503.http'), PAGE('503 Service Unavailable'));
  writeFileSync(join(folder, '403.http'), PAGE('403 Forbidden'));
  const port = await freePort();
  const site = SITE.replaceAll('PORT', String(port))
    .replaceAll('APPLICATION', String(ports.application))
    .replaceAll('HEALTH', String(ports.health))
    .replaceAll('FOLDER', folder);
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, ports.headgate === undefined ? site : await guarded(site, ports));
  return runProxy('haproxy', ['-f', file], port, folder);
}

async function guarded(site: string, { headgate = 0, policies = '' }: SitePorts): Promise<string> {
  const text = proxyConfigOf('haproxy', policies, {
    gateway: { host: '127.0.0.1', port: headgate },
    ownPort: await freePort(),
  });
  const part = (place: string) => withHaproxyAction(patient(partsFor(place, text)));
  return `${site
    .replace(/^global\n/, (line) => `${line}${part('global')}`)
    .replace(/^ {2}bind .*\n/m, (line) => `${line}${part('frontend')}`)}${part('end')}`;
}
