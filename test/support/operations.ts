/** Gateways with the ops API, their policies, and requests of clients and operators to them. */
import { hash } from 'node:crypto';
import { Agent } from 'node:http';
import { type Gateway, type GatewayProcess, startGateway, startGatewayProcess } from './gateway.ts';
import { call, type HttpAnswer } from './http.ts';
import { temporaryFile } from './temporary.ts';

/** API keys in the policy file, by their ids. */
export const KEYS = { acme: 'key-of-acme-1', globex: 'key-of-globex-1' } as const;
export const EXEMPT_ADDRESS = '198.51.100.200';
export const BLOCKED_ADDRESS = '198.51.100.201';
export const LOCAL_LIMIT = 6;

const key = (id: keyof typeof KEYS) => `{ id: ${id}, sha256: ${hash('sha256', KEYS[id])} }`;

/** From the strictest: pin, then tokens, then the others. */
const POLICIES = `
version: 1
identity:
  sources: [api_key, user, ip]
  api_key: { header: x-api-key, keys: [${key('acme')}, ${key('globex')}] }
  trusted_proxies: [loopback]
  ip: { ipv6_prefixes: { 64: 1x, 48: 9x } }
exempt: [${EXEMPT_ADDRESS}]
block: [${BLOCKED_ADDRESS}] # ticket 4711
default: { limits: [1000/1h] }
policies:
  - { name: pin, match: { method: POST, path: /pin }, limits: [2/1d] }
  - { name: tokens, match: { method: POST, path: /tokens }, limits: [4/1d] }
  - { name: login, match: { method: POST, path: /api/auth/login }, limits: [3/1h] }
  - name: local
    match: { method: POST, path: /local }
    limits: [${LOCAL_LIMIT}/1h]
    on_store_failure: local
  - { name: search, match: { method: GET, path: /api/search }, limits: [100/1h], plans: { pro: [500/1h] } }
`;

/** A file with the policies, until the stack is disposed of. */
export function policyFile(lab: AsyncDisposableStack): string {
  const path = temporaryFile(lab, POLICIES);
  return path;
}

/** A busy machine delays the answers of Redis. */
const STORE_TIMEOUT = { HEADGATE_STORE_TIMEOUT_MS: '2000' };

export function startOperated(policies: string, env: NodeJS.ProcessEnv = {}): Promise<Gateway> {
  return startGateway({ HEADGATE_POLICIES: policies, ...STORE_TIMEOUT, ...env });
}

/** As a process, which can be frozen and may have workers. */
export function startOperatedProcess(
  policies: string,
  env: NodeJS.ProcessEnv = {},
): Promise<GatewayProcess> {
  return startGatewayProcess({ HEADGATE_POLICIES: policies, ...STORE_TIMEOUT, ...env });
}

export interface Visitor {
  readonly address?: string;
  readonly key?: string;
  readonly user?: string;
}

/** A new connection for each request, so that every worker gets some. */
const oneByOne = new Agent();

/** Checks a request as a proxy does. `what` is like `POST /pin` or `/api/search`. */
export function visit(gateway: Gateway, what: string, visitor: Visitor = {}): Promise<HttpAnswer> {
  const [target = '/', method = 'GET'] = what.split(' ').reverse();
  return call(gateway.url, `/envoy${target}`, {
    method,
    headers: {
      'x-headgate-client-ip': visitor.address ?? '198.51.100.1',
      ...(visitor.key !== undefined && { 'x-api-key': visitor.key }),
      ...(visitor.user !== undefined && { 'x-user': visitor.user }),
    },
    agent: oneByOne,
  });
}

let addresses = 0;

/** An address that no other test of the file has. */
export function newAddress(): string {
  addresses++;
  return `203.0.${112 + (addresses >> 8)}.${addresses & 255}`;
}

export interface OpsAnswer<T> {
  readonly status: number;
  readonly answer: T;
  readonly text: string;
}

/** A call of the ops API: `POST /v1/clients/block`. */
export async function operate<T = Record<string, unknown>>(
  gateway: Gateway,
  what: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<OpsAnswer<T>> {
  const [method, path = '/'] = what.split(' ');
  const { status, body: text } = await call(gateway.opsUrl, path, {
    ...(method !== undefined && { method }),
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status, answer: text.startsWith('{') ? JSON.parse(text) : {}, text };
}

/** The terms of most overrides. */
export const TERMS = { for: '10min', reason: 'a test', by: 'test' } as const;

export function override<T = Record<string, unknown>>(
  gateway: Gateway,
  verb: string,
  client: string,
  terms: object = {},
) {
  return operate<T>(gateway, `POST /v1/clients/${verb}`, { client, ...TERMS, ...terms });
}

export function lift(gateway: Gateway, verb: string, client: string) {
  return operate(gateway, `POST /v1/clients/${verb}`, { client, by: 'test' });
}

export function reset(gateway: Gateway, client: string, policy?: string) {
  return operate(gateway, 'POST /v1/clients/reset', {
    client,
    ...(policy !== undefined && { policy }),
  });
}

export function setMode(gateway: Gateway, policy: string, mode: string, terms: object = {}) {
  return operate(gateway, `PUT /v1/policies/${policy}/mode`, { mode, ...TERMS, ...terms });
}
