/** What a gateway says once it answers: where, by which policies, where it counts, and what to try. */
import type { AddressInfo } from 'node:net';
import type { Listening } from '../app.ts';
import type { Environment } from '../config/environment.ts';
import type { PolicySource } from '../config/policy-source.ts';

export function banner(
  environment: Environment,
  policies: PolicySource,
  { check, grpc, ops }: Listening,
): string {
  const names = policies.current.policies.map(({ name }) => name).join(', ');
  const where = typeof check === 'string' ? `unix:${check}` : urlOf(check);
  const target = typeof check === 'string' ? `--unix-socket ${check} http://localhost` : where;
  // The secret itself is not repeated here.
  const secret = environment.proxySecrets.length > 0 ? " -H 'x-headgate-secret: ...'" : '';
  return `headgate answers proxies at ${where}${ops === undefined ? '' : ` and operators at ${urlOf(ops)}`}
${grpc === undefined ? '' : `  grpc      ${urlOf(grpc)} (Envoy)\n`}  policies  ${environment.policies} (${names})
  store     ${storeName(environment.redis)}
  try       curl -i -X POST ${target}/envoy/api/auth/login -H 'x-api-key: alice'${secret}`;
}

function storeName(redis: Environment['redis']): string {
  if (redis === undefined)
    return 'memory: counts of this process only, set HEADGATE_REDIS_URL to share them';
  const { kind, addresses, masterName } = redis;
  const places = addresses.map(({ host, port }) => `${host}:${port}`).join(', ');
  if (kind === 'sentinel') return `Redis, the master ${masterName} of the sentinels at ${places}`;
  return kind === 'cluster' ? `Redis Cluster at ${places}` : `Redis at ${places}`;
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
