/** One policy for each `on_store_failure`, and clients that have a listed key each. */
import { hash } from 'node:crypto';
import { LIMIT, WINDOW_SECONDS } from './failure-user.ts';

/** Where the proxies of the tests expect the gateway. */
export interface GatewayPorts {
  readonly port: number;
  readonly grpcPort: number;
}

const CLIENTS = 1_000;

const keys = Array.from({ length: CLIENTS }, (_, i) => {
  const id = `client-${i}`;
  return `{ id: ${id}, sha256: ${hash('sha256', id, 'hex')} }`;
});

const policies = ['allow', 'deny', 'local'].map(
  (mode) =>
    `{ name: ${mode}, match: { path: /${mode} }, limits: [${LIMIT}/${WINDOW_SECONDS}s], on_store_failure: ${mode} }`,
);

export const POLICIES = `
version: 1
identity: { sources: [api_key, ip], api_key: { header: x-api-key, keys: [${keys}] } }
default: { limits: [1000/1h] }
policies: [${policies}]
`;

let taken = 0;

/** The key of a client that has sent no request yet. */
export function newClient(): string {
  if (taken === CLIENTS) throw new Error('more clients than keys');
  return `client-${taken++}`;
}
