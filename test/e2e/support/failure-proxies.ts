/** The proxies of deploy/ as they are shipped, and with the change that refuses requests while the gateway is down. */
import { readFileSync } from 'node:fs';
import type { Behind, RunningProxy } from '../../support/proxies.ts';
import { type ProxyStart, proxyStart } from '../../support/proxy-starts.ts';

export type Choice = 'as shipped' | 'refuses';

interface FailureProxy extends ProxyStart {
  /** Texts of its file, and what replaces them to refuse requests. */
  readonly toRefuse: Readonly<Record<string, string>>;
  /** How long it waits for a gateway that hangs, as its file says. */
  readonly timeoutMs: number;
  /** The client gets none of the headers of an answer that allows the request. */
  readonly hidesAllowed?: true;
}

const shipped = (name: string) =>
  readFileSync(new URL(`../../../deploy/${name}`, import.meta.url), 'utf8');
const NGINX_FILE = shipped('nginx/nginx.conf');
const ENVOY_FILE = shipped('envoy/envoy.yaml');
const ENVOY_GRPC_FILE = shipped('envoy/envoy-grpc.yaml');
const HAPROXY_FILE = shipped('haproxy/haproxy.cfg');
const CADDY_FILE = shipped('caddy/Caddyfile');
const TRAEFIK_FILE = shipped('traefik/dynamic.yaml');
const APISIX_FILE = shipped('apisix/apisix.yaml');

export const PROXIES: Readonly<Record<string, FailureProxy>> = {
  NGINX: {
    ...proxyStart('nginx'),
    toRefuse: {
      'error_page 500 502 503 504 =204 @headgate_unavailable;': '',
      'add_header X-RateLimit-Bypass    $headgate_bypass always;': '',
    },
    timeoutMs: Number(found(NGINX_FILE, /proxy_read_timeout (\d+)ms;/)),
  },
  Envoy: {
    ...proxyStart('envoy'),
    toRefuse: { 'failure_mode_allow: true': 'failure_mode_allow: false' },
    timeoutMs: 1_000 * Number(found(ENVOY_FILE, /cluster: headgate, timeout: ([\d.]+)s /)),
  },
  'Envoy over gRPC': {
    ...proxyStart('envoy-grpc'),
    toRefuse: { 'failure_mode_allow: true': 'failure_mode_allow: false' },
    timeoutMs: 1_000 * Number(found(ENVOY_GRPC_FILE, /timeout: ([\d.]+)s\n/)),
  },
  HAProxy: {
    ...proxyStart('haproxy'),
    toRefuse: { 'set-var(txn.headgate_bypass) str(gateway-unavailable)': 'deny deny_status 503' },
    timeoutMs: Number(found(HAPROXY_FILE, /timeout server (\d+)ms\n/)),
  },
  Caddy: {
    ...proxyStart('caddy'),
    toRefuse: {
      [found(CADDY_FILE, /(\thandle_response @headgate_failed {\n[\s\S]*?\n\t}\n)/)]: '',
    },
    timeoutMs: Number(found(CADDY_FILE, /response_header_timeout (\d+)ms\n/)),
  },
  Traefik: {
    ...proxyStart('traefik'),
    toRefuse: { 'service: headgate-or-open': 'service: headgate' },
    timeoutMs: Number(found(TRAEFIK_FILE, /responseHeaderTimeout: (\d+)ms\n/)),
    hidesAllowed: true,
  },
  APISIX: {
    ...proxyStart('apisix'),
    toRefuse: { 'allow_degradation: true': 'allow_degradation: false' },
    timeoutMs: Number(found(APISIX_FILE, /timeout: (\d+)\n/)),
  },
};

function found(text: string, pattern: RegExp): string {
  const part = pattern.exec(text)?.[1];
  if (part === undefined) throw new Error(`a file of deploy/ must match ${pattern}`);
  return part;
}

export function startFailureProxy(
  name: string,
  choice: Choice,
  behind: Behind,
): Promise<RunningProxy> {
  const { start, toRefuse } = proxyOf(name);
  return start(choice === 'as shipped' ? behind : { ...behind, changes: toRefuse });
}

export function proxyOf(name: string): FailureProxy {
  const proxy = PROXIES[name];
  if (proxy === undefined) throw new Error(`no proxy is called ${name}`);
  return proxy;
}
