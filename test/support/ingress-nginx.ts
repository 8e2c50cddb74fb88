/**
 * The NGINX configuration that the controller of ingress-nginx (1.15.1, with its default ConfigMap) makes of our
 * Ingress. It has what requests and checks meet: no Lua, no TLS, and one server for all hosts.
 */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseDocument } from 'yaml';
import { freePort } from './ports.ts';
import { nginxArguments, patient, type RunningProxy, runProxy } from './proxies.ts';

const MANIFEST = new URL('../../deploy/ingress-nginx/ingress.yaml', import.meta.url);
const PREFIX = 'nginx.ingress.kubernetes.io/';
const SNIPPETS = ['auth-snippet', 'configuration-snippet', 'server-snippet'] as const;

export interface IngressBehind {
  /** Ports. */
  readonly application: number;
  readonly headgate: number;
  /** Without them, as where the controller does not allow them. */
  readonly snippets?: boolean;
  /** Other changes to the file: texts of its snippets, and what replaces them. */
  readonly changes?: Readonly<Record<string, string>>;
  /** Statuses of `custom-http-errors`, of the controller's ConfigMap or of the annotation. */
  readonly customErrors?: CustomErrors;
  /** Keeps the short timeouts of the snippets; otherwise NGINX waits ten seconds for headgate. */
  readonly hasShippedTimeouts?: boolean;
}

interface CustomErrors {
  readonly of: 'ConfigMap' | 'annotation';
  readonly codes: readonly number[];
}

interface Ingress {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
}

export function ingressAnnotations(): ReadonlyMap<string, string> {
  const { metadata } = parseDocument(readFileSync(MANIFEST, 'utf8')).toJS() as Ingress;
  return new Map(
    Object.entries(metadata.annotations).map(([name, value]) => [
      name.slice(PREFIX.length),
      String(value),
    ]),
  );
}

export async function startIngressNginx(behind: IngressBehind): Promise<RunningProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-ingress-nginx-'));
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  const text = configuration(annotationsFor(behind), behind, port);
  writeFileSync(file, behind.hasShippedTimeouts === true ? text : patient(text));
  return runProxy('nginx', nginxArguments(file, folder), port, folder);
}

function annotationsFor({
  headgate,
  snippets = true,
  changes = {},
}: IngressBehind): Map<string, string> {
  const annotations = new Map(ingressAnnotations());
  for (const name of snippets ? [] : SNIPPETS) annotations.delete(name);
  for (const [shipped, changed] of Object.entries(changes)) {
    const name = SNIPPETS.find((snippet) => annotations.get(snippet)?.includes(shipped));
    if (name === undefined) throw new Error(`a snippet must have "${shipped}"`);
    annotations.set(name, annotations.get(name)?.replaceAll(shipped, changed) ?? '');
  }
  const url = new URL(annotations.get('auth-url') ?? '');
  url.host = `127.0.0.1:${headgate}`;
  return annotations.set('auth-url', url.href);
}

function configuration(
  annotations: Map<string, string>,
  { application, customErrors }: IngressBehind,
  port: number,
) {
  const errors = customErrorLines(customErrors);
  const value = (name: string) => annotations.get(name) ?? '';
  const { host } = new URL(value('auth-url'));
  const check = `/_external-auth-${Buffer.from('/').toString('base64url')}-Prefix`;
  const buffers = `
      proxy_buffering off;
      proxy_buffer_size ${annotations.get('proxy-buffer-size') ?? '4k'};
      proxy_buffers 4 ${annotations.get('proxy-buffer-size') ?? '4k'};
      proxy_request_buffering on;
      client_max_body_size ${annotations.get('proxy-body-size') ?? '1m'};
      proxy_http_version 1.1;`;
  const method = annotations.has('auth-method')
    ? `proxy_method ${value('auth-method')};
      proxy_set_header X-Original-URI $request_uri;
      proxy_set_header X-Scheme $pass_access_scheme;`
    : '';
  return `
events {}
http {
  underscores_in_headers off;
  ignore_invalid_headers on;
  large_client_header_buffers 4 8k;
  reset_timedout_connection on;
  log_subrequest on;
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  map $http_x_request_id $req_id { default $http_x_request_id; "" $request_id; }
  ${errors.http}
  upstream upstream_balancer { server 127.0.0.1:${application}; keepalive 320; }

  server {
    listen 127.0.0.1:${port} default_server;
    server_name "api.example.com";
    set $proxy_upstream_name "-";
    ${value('server-snippet')}
    ${errors.server}

    location = ${check} {
      internal;
      access_log off;
      set $proxy_upstream_name "application-application-80";
      proxy_intercept_errors off;
      proxy_pass_request_body off;
      proxy_set_header Content-Length "";
      proxy_set_header X-Forwarded-Proto "";
      proxy_set_header X-Request-ID $req_id;
      ${method}
      proxy_set_header Host ${host.split(':')[0]};
      proxy_set_header X-Original-URL $scheme://$http_host$request_uri;
      proxy_set_header X-Original-Method $request_method;
      proxy_set_header X-Sent-From "nginx-ingress-controller";
      proxy_set_header X-Real-IP $remote_addr;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Auth-Request-Redirect $request_uri;
      proxy_ssl_server_name on;
      proxy_pass_request_headers on;
      ${buffers}
      ${value('auth-snippet')}
      set $target "${value('auth-url')}";
      proxy_pass $target;
    }

    location "/" {
      set $proxy_upstream_name "application-application-80";
      set $pass_access_scheme $scheme;
      set $best_http_host $http_host;
      auth_request ${check};
      auth_request_set $auth_cookie $upstream_http_set_cookie;
      add_header Set-Cookie $auth_cookie;
      ${authResponseHeaders(annotations.get('auth-response-headers'))}
      proxy_set_header Host $best_http_host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_set_header X-Request-ID $req_id;
      proxy_set_header X-Real-IP $remote_addr;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Host $best_http_host;
      proxy_set_header X-Forwarded-Port $server_port;
      proxy_set_header X-Forwarded-Proto $pass_access_scheme;
      proxy_set_header X-Forwarded-Scheme $pass_access_scheme;
      proxy_set_header X-Scheme $pass_access_scheme;
      proxy_set_header X-Original-Forwarded-For $http_x_forwarded_for;
      proxy_set_header Proxy "";
      proxy_connect_timeout 5s;
      proxy_send_timeout 60s;
      proxy_read_timeout 60s;
      ${buffers}
      proxy_next_upstream error timeout;
      proxy_next_upstream_tries 3;
      ${value('configuration-snippet')}
      ${errors.location}
      proxy_pass http://upstream_balancer;
      proxy_redirect off;
    }
  }
}
`;
}

/** Headers of the check's answer that the application gets. */
function authResponseHeaders(names = ''): string {
  const lines = names
    .split(',')
    .filter((name) => name !== '')
    .flatMap((name, i) => [
      `auth_request_set $authHeader${i} $upstream_http_${name.toLowerCase().replaceAll('-', '_')};`,
      `proxy_set_header '${name}' $authHeader${i};`,
    ]);
  return lines.join('\n      ');
}

/** The backend for errors gets `/`, with the status in X-Code. Here that is the application itself. */
function customErrorLines(errors: CustomErrors | undefined) {
  if (errors === undefined) return { http: '', server: '', location: '' };
  const { of, codes } = errors;
  const lines = codes.map(
    (code) => `error_page ${code} = @custom_upstream-default-backend_${code};`,
  );
  const block = ['proxy_intercept_errors on;', ...lines].join('\n');
  const server = codes.map(
    (code) => `
    location @custom_upstream-default-backend_${code} {
      internal;
      proxy_intercept_errors off;
      proxy_set_header X-Code ${code};
      rewrite (.*) / break;
      proxy_pass http://upstream_balancer;
    }`,
  );
  return {
    http: of === 'ConfigMap' ? block : '',
    server: server.join(''),
    location: of === 'annotation' ? block : '',
  };
}
