/** What clients see behind a proxy, in the words of docs/proxies.md. */

import { startGateway } from '../../support/gateway.ts';
import { call, type HttpAnswer } from '../../support/http.ts';
import type { Behind, RunningProxy } from '../../support/proxies.ts';
import { startUpstream } from '../../support/upstream.ts';
import { startCountingRelay } from './counting-relay.ts';

export interface TrialResult {
  readonly '429': string;
  readonly 'headers on deny': string;
  readonly 'body on deny': string;
  readonly 'headers on allow': string;
  readonly "application's own": string;
  readonly '20 MB upload': string;
  readonly 'gateway gone': string;
  readonly 'keeps its connections': string;
}

const LOGIN = '/api/auth/login';
const LOGIN_LIMIT = 5;
const CHECKS = 20;
const UPLOAD_BYTES = 20 * 1024 * 1024;
const ON_ALLOW = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'ratelimit',
  'ratelimit-policy',
];
const ON_DENY = [...ON_ALLOW, 'retry-after', 'x-ratelimit-policy', 'cache-control'];

export async function tryProxy(
  start: (behind: Behind) => Promise<RunningProxy>,
  isGrpc: boolean,
): Promise<TrialResult> {
  await using gateway = await startGateway({ HEADGATE_GRPC_PORT: '0' });
  await using relay = await startCountingRelay(isGrpc ? gateway.grpcPort : gateway.port);
  await using upstream = await startUpstream();
  const { port } = relay;
  await using proxy = await start({ application: upstream.port, headgate: port, grpc: port });

  for (let i = 0; i < CHECKS; i++) await call(proxy.url, '/api/search');
  const { connections } = relay;
  const body = Buffer.alloc(UPLOAD_BYTES);
  const upload = await call(proxy.url, '/api/upload', { method: 'POST', body });
  const hasArrived = upstream.seen.some(({ bytes }) => bytes === UPLOAD_BYTES);
  const login = () => call(proxy.url, LOGIN, { method: 'POST' });
  const allowed = await login();
  for (let i = 1; i < LOGIN_LIMIT; i++) await login();
  const denied = await login();
  await gateway.stop();
  const reached = upstream.seen.length;
  // Not a login: its policy has on_gateway_failure: deny.
  const unchecked = await call(proxy.url, '/api/search');
  return {
    '429': denied.status === 429 ? 'yes' : `no, ${denied.status}`,
    'headers on deny': shareOf(ON_DENY, denied),
    'body on deny': isDenialBody(denied) ? 'yes' : 'no',
    'headers on allow': shareOf(ON_ALLOW, allowed, String(LOGIN_LIMIT)),
    "application's own": fateOfOwn(allowed),
    '20 MB upload': upload.status === 200 && hasArrived ? 'yes' : `no, ${upload.status}`,
    'gateway gone': upstream.seen.length > reached ? 'passes' : `refused, ${unchecked.status}`,
    // A proxy with threads may open one for each of them.
    'keeps its connections':
      connections <= CHECKS / 4 ? 'yes' : `no, ${connections} for ${CHECKS} checks`,
  };
}

/** Which headers have the values of headgate. Those of the application are 999. */
function shareOf(names: readonly string[], { headers }: HttpAnswer, limit?: string): string {
  const isTrue = limit === undefined || headers['x-ratelimit-limit'] === limit;
  const missing = names.filter((name) => headers[name] === undefined);
  if (isTrue && missing.length === 0) return 'all';
  return !isTrue || missing.length === names.length ? 'none' : `not ${missing.join(', ')}`;
}

function isDenialBody({ headers, body }: HttpAnswer): boolean {
  return (
    headers['content-type'] === 'application/json' && /"error":"rate_limit_exceeded"/.test(body)
  );
}

function fateOfOwn({ rawHeaders }: HttpAnswer): string {
  const limits = rawHeaders.flatMap((name, i) =>
    i % 2 === 0 && /^(x-ratelimit-(limit|remaining|reset)|ratelimit)/i.test(name)
      ? [rawHeaders[i + 1] ?? '']
      : [],
  );
  // A reset is a longer number, which may contain these digits.
  if (limits.some((value) => /\b999\b/.test(value))) return 'kept';
  return limits.length === 0 ? 'removed' : 'replaced';
}
