/** Checks as proxies send them, and what the answers show: the policies that counted the request, and the client. */
import { hash } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { call, type HttpAnswer } from '../../support/http.ts';
import { exchange } from '../../support/raw-http.ts';
import { temporaryFile } from '../../support/temporary.ts';

/** So high that no request is denied. The tests look at whose remaining number decreases. */
export const PLENTY = 1_000_000;
export const EXEMPT = '203.0.113.50';
export const BLOCKED = '203.0.113.66';
export const CLOUDFLARE = '173.245.48.5';
export const INNER_PROXY = '10.0.0.7';
export const LISTED_KEY = 'the-key-of-alice';
export const LOGIN: Check = { method: 'POST', target: '/api/auth/login' };

/** Each kind of request has its own policy, so the policy that counted a request shows how it was understood. */
export const policies = (identity: string) => `
version: 1
identity:
  sources: [api_key, user, cf_connecting_ip, ip]
  verified_headers: [x-tenant]
  ${identity}
exempt: [${EXEMPT}]
block: [${BLOCKED}]
default: { limits: [${PLENTY}/1h] }
policies:
  - { name: login, match: { method: POST, path: /api/auth/login }, limits: [${PLENTY}/1h] }
  - { name: search, match: { method: GET, path: /api/search }, limits: [${PLENTY}/1h] }
  - { name: public, match: { path: "/public/*" }, limits: [${PLENTY}/1h] }
  - { name: strict, match: { path: /strict }, limits: [5/1h], cost: 1 }
  - { name: partner, always: true, match: { host: partner.example }, limits: [${PLENTY}/1h] }
  - { name: tenant, match: { path: /tenant }, limits: [{ rate: ${PLENTY}/1h, per: "header:x-tenant" }] }
`;
/** Trusts callers on loopback, and lists one key. */
export const withKeyIn = (header: string) =>
  policies(`trusted_proxies: [loopback, 10.0.0.0/8]
  api_key: { header: ${header}, keys: [{ id: alice, sha256: ${hash('sha256', LISTED_KEY, 'hex')} }] }`);

export const DIALECTS = ['envoy', 'nginx', 'caddy'] as const;
export type DialectName = (typeof DIALECTS)[number];

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

export interface Check {
  readonly through?: DialectName;
  readonly method?: string;
  readonly target?: string;
  readonly host?: string;
  /** The address that connected to the proxy. */
  readonly client?: string;
  /** The query of the check itself, for proxies that send it to a fixed path. */
  readonly query?: string;
  /** Added to the headers of the proxy, or replacing them. In lower case; undefined removes a header. */
  readonly headers?: Headers;
}

export interface Judgement {
  readonly status: number;
  /** The names of the limits that counted the request. */
  readonly charged: readonly string[];
  /** The remaining number of the strictest limit. It decreases from one check to the next of the same client. */
  readonly left: number;
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
}

type Line = Required<Pick<Check, 'method' | 'target' | 'client' | 'query'>>;

/** The check that each proxy sends. */
const OWN: Record<DialectName, (line: Line) => Call> = {
  envoy: ({ method, target, client }) => ({
    method,
    path: `/envoy${target}`,
    headers: { 'x-headgate-peer-ip': client, 'x-headgate-client-ip': client },
  }),
  nginx: ({ method, target, client, query }) => ({
    method: 'GET',
    path: `/nginx${query}`,
    headers: {
      'x-original-method': method,
      'x-original-uri': target,
      'x-real-ip': client,
      'x-headgate-peer-ip': client,
    },
  }),
  caddy: ({ method, target, client, query }) => ({
    method: 'GET',
    path: `/caddy${query}`,
    headers: {
      'x-forwarded-method': method,
      'x-forwarded-uri': target,
      'x-forwarded-for': client,
      'x-headgate-peer-ip': client,
    },
  }),
};

/** Whether a proxy overwrites this header of its clients. */
export function setsItself(dialect: DialectName, name: string): boolean {
  const nothing = { method: '', target: '', client: '', query: '' };
  return name in OWN[dialect](nothing).headers;
}

/** Whether the header carries the method or target: every caller of the gateway must send it. */
export function tellsLine(dialect: DialectName, name: string): boolean {
  return setsItself(dialect, name) && /-(uri|method)$/.test(name);
}

function callOf(check: Check): Call {
  const { through = 'envoy', method = 'GET', target = '/', host = 'a.example' } = check;
  const { client = '198.51.100.1', query = '' } = check;
  const own = OWN[through]({ method, target, client, query });
  const headers = { ...own.headers, host, ...check.headers };
  const sent = Object.entries(headers).filter(([, value]) => value !== undefined);
  return { ...own, headers: Object.fromEntries(sent) as Record<string, string> };
}

export async function answerTo(gateway: Gateway, check: Check): Promise<HttpAnswer> {
  const { path, ...rest } = callOf(check);
  return call(gateway.url, path, rest);
}

export async function ask(gateway: Gateway, check: Check = {}): Promise<Judgement> {
  const { status, headers } = await answerTo(gateway, check);
  return judgement(status, headers['ratelimit-policy']?.toString(), headers.ratelimit?.toString());
}

/** Sends `lines` before all other header lines: doubled, or too many, or lines that no library sends. */
export async function askAfter(
  lines: string,
  gateway: Gateway,
  check: Check = {},
): Promise<Judgement> {
  const { method, path, headers } = callOf(check);
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const text = `${method} ${path} HTTP/1.1\r\n${lines}${fields.join('')}Connection: close\r\n\r\n`;
  const answer = await exchange(gateway.url, Buffer.from(text, 'latin1'), 1_000);
  const field = (name: string) => new RegExp(`^${name}: (.*)\r$`, 'im').exec(answer)?.[1];
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);
  return judgement(status, field('ratelimit-policy'), field('ratelimit'));
}

function judgement(status: number, policies = '', rate = ''): Judgement {
  const charged = [...policies.matchAll(/"([^"]+)"/g)].map(([, label = '']) => label);
  return { status, charged, left: Number(/;r=(\d+)/.exec(rate)?.[1] ?? Number.NaN) };
}

export interface PoliciedGateway extends Gateway {
  /** Replaces the policy file. The gateway reloads it. */
  replacePolicies(text: string): void;
}

export async function startWith(
  policies: string,
  env: NodeJS.ProcessEnv = {},
): Promise<PoliciedGateway> {
  await using unlessItStarts = new AsyncDisposableStack();
  const file = temporaryFile(unlessItStarts, policies);
  const gateway = await startGateway({ HEADGATE_POLICIES: file, ...env }, { reloads: true });
  unlessItStarts.defer(() => gateway[Symbol.asyncDispose]());
  const started = unlessItStarts.move();
  return {
    ...gateway,
    replacePolicies(text) {
      writeFileSync(`${file}.next`, text);
      renameSync(`${file}.next`, file);
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** Splits lines into words. The first word is an id. */
export const rows = (text: string) => text.trim().split('\n').map(words);
export const words = (text: string) => text.trim().split(/\s+/);

/** Headers that some proxy sets, and that clients may try to forge. */
export const SPOOFED = rows(`
  CVE-2026-40575 x-forwarded-uri
  CVE-2026-35051 x-forwarded-prefix
  CVE-2026-54764 x-forwarded-port
  GHSA-vhr5-ggp3-qq85 x-forwarded x-forwarded-for x-forwarded-host x-forwarded-proto x-forwarded-method
  GHSA-vhr5-ggp3-qq85 x-forwarded-server x-forwarded-by x-forwarded-path x-forwarded-scheme x-forwarded-ssl
  GHSA-vhr5-ggp3-qq85 x-forwarded-user x-forwarded-groups x-forwarded-email x-forwarded-client-cert
  GHSA-vhr5-ggp3-qq85 x-original-uri x-original-url x-original-method x-original-host x-original-path
  GHSA-vhr5-ggp3-qq85 x-original-forwarded-for x-original-remote-addr x-rewrite-url x-host forwarded via
  GHSA-vhr5-ggp3-qq85 x-real-ip true-client-ip client-ip x-client-ip x-cluster-client-ip fastly-client-ip
  GHSA-vhr5-ggp3-qq85 x-azure-clientip x-appengine-user-ip cf-connecting-ip cf-connecting-ipv6 cf-pseudo-ipv4
  GHSA-vhr5-ggp3-qq85 cf-ipcountry cf-ray cf-visitor cf-worker cf-ew-via x-user x-auth-user remote-user
  GHSA-vhr5-ggp3-qq85 x-headgate-peer-ip x-headgate-client-ip x-headgate-secret x-headgate-body x-tenant
  CVE-2023-27487 x-envoy-original-path x-envoy-original-host x-envoy-original-method
  CVE-2024-45806 x-envoy-external-address x-envoy-internal x-envoy-peer-metadata x-envoy-ip-tags
  CVE-2024-45806 x-envoy-downstream-service-cluster x-envoy-decorator-operation x-envoy-force-trace
  CVE-2024-45806 x-envoy-retry-on x-envoy-max-retries x-envoy-attempt-count x-envoy-upstream-rq-timeout-ms
  CVE-2024-45806 x-envoy-expected-rq-timeout-ms x-envoy-auth-failure-mode-allowed x-envoy-authorized
  CVE-2026-24513 x-code`).flatMap(([id = '', ...names]) =>
  names.map((name) => [id, name] as const),
);
/** Their names alone. */
export const SPOOFED_NAMES = SPOOFED.map(([, name]) => name);

/** Names that some servers confuse with those of a proxy. */
export const ALIASES = words(`
  X-Forwarded-For X-Forwarded-Uri X-Forwarded-Method X-Real-IP X-Original-URI X-Original-Method X-Api-Key
  X-Headgate-Client-IP X-Headgate-Peer-IP CF-Connecting-IP X-User X-Tenant`).flatMap((name) =>
  [/-/g, /-(?=[^-]*$)/].flatMap((hyphens) => [
    name.replace(hyphens, '_'),
    name.replace(hyphens, '.'),
  ]),
);
/** Names of properties that every object has. */
export const FUNNY_NAMES = words('__proto__ constructor prototype toString hasOwnProperty valueOf');

/** Texts that are not one address. */
export const JUNK = words(`
  a - _ * unknown null undefined NaN localhost __proto__ {} [] %00 \xff\xfe \x80 $(x) 127.1 0x7f.0.0.1 0177.0.0.1
  2130706433 1.2.3 1.2.3.4.5 256.1.1.1 01.2.3.4 1.2.3.4:x 1.2.3.4:123456 [1.2.3.4]x 1.2.3.4/32 1.2.3.4; "1.2.3.4
  %31.2.3.4 : ::: ::ffff: [::1 ::ffff:1.2.3.4.5 12345:: %eth0 ${'1'.repeat(9_000)}`).concat(
  '',
  '1.2.3.4 5.6.7.8',
);

/** User agents and paths of health checks. */
export const HEALTH_AGENTS = words(`
  GoogleHC/1.0 kube-probe/1.34 ELB-HealthChecker/2.0 Amazon-Route53-Health-Check-Service Envoy/HC HAProxy
  Consul-Health-Check Prometheus/3.5 UptimeRobot/2.0 Pingdom.com_bot AlwaysOn Cloudflare-Traffic-Manager/1.0
  Azure-Traffic-Manager-Endpoint-Monitor Go-http-client/1.1 curl/8`);
export const HEALTH_PATHS = words(`
  /health /healthz /health/live /-/healthy /ping /livez /readyz /ready /alive /status /metrics /server-status
  /nginx_status /oauth2/ping /oauth2/auth /robots.txt /favicon.ico /.well-known/health`);

/** Parts of targets that parsers read in different ways. */
export const SCRAPS = words(`
  / // . .. ; # ? : * @ & = \\ [ ] { } | ^ \` " < > % %2 %zz %% %2f %5c %2e %25 %252e %00 %0d%0a %7f %ff
  %c0%ae %e0%80%af %u002f %ed%a0%80 http:// https://a.example:x file: public strict \xe9 \xff \x80`).concat(
  ' ',
  '\t',
  'x'.repeat(300),
);
