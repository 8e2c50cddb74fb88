import { isThisMachine } from '../../core/identity/address.ts';
import type { RedisTarget } from './redis-url.ts';

interface Compared {
  readonly workers: number;
  readonly redis: RedisTarget | undefined;
  readonly opsHost: string;
  readonly port: number | undefined;
  readonly socket: string | undefined;
  readonly grpcPort: number | undefined;
  readonly rateLimit: object | undefined;
}

/** Mistakes that only several settings together show. Half of a set-up for TLS would connect without it, or let nobody in. */
export function combinedMistakes(
  { workers, redis, opsHost, port, socket, grpcPort, rateLimit }: Compared,
  variables: NodeJS.ProcessEnv,
): string[] {
  const has = (name: string) => Boolean(variables[name]);
  const hasGrpcTls = has('HEADGATE_GRPC_TLS_CERT') && has('HEADGATE_GRPC_TLS_KEY');
  const withoutKey = has('HEADGATE_GRPC_TLS_CERT') ? 'KEY' : 'CERT';
  const withoutRedisKey = has('HEADGATE_REDIS_TLS_CERT') ? 'KEY' : 'CERT';
  const redisFile = ['CA', 'CERT', 'KEY'].find((each) => has(`HEADGATE_REDIS_TLS_${each}`));
  const found: readonly (readonly [isWrong: boolean, mistake: string])[] = [
    [
      workers > 1 && redis === undefined,
      'HEADGATE_WORKERS: several workers need HEADGATE_REDIS_URL, because without Redis each worker counts by itself and admits the whole limit',
    ],
    [
      // An invalid token is reported already.
      !has('HEADGATE_ADMIN_TOKEN') && !isThisMachine(opsHost),
      `HEADGATE_OPS_HOST: other machines can reach ${JSON.stringify(opsHost)} and control the gateway; set HEADGATE_ADMIN_TOKEN (at least 16 characters), or use a loopback address such as 127.0.0.1`,
    ],
    [
      port === undefined && socket === undefined && grpcPort === undefined,
      'HEADGATE_PORT: no proxy can ask a gateway that has neither HEADGATE_PORT, HEADGATE_LISTEN nor HEADGATE_GRPC_PORT',
    ],
    [
      rateLimit !== undefined && grpcPort === undefined,
      "HEADGATE_GRPC_PORT: Envoy's rate limit filter asks over gRPC, so set a port, or unset HEADGATE_RATELIMIT_CONFIG and HEADGATE_RATELIMIT_CONTROL_PLANE",
    ],
    [
      has('HEADGATE_RATELIMIT_CONFIG') && has('HEADGATE_RATELIMIT_CONTROL_PLANE'),
      'HEADGATE_RATELIMIT_CONFIG: is not used with HEADGATE_RATELIMIT_CONTROL_PLANE, unset one of them',
    ],
    [
      GRPC_TLS.some(has) && !hasGrpcTls,
      `HEADGATE_GRPC_TLS_${withoutKey}: is not set; TLS on the gRPC port needs a certificate and its key`,
    ],
    [
      has('HEADGATE_GRPC_TLS_CLIENT_NAME') && !has('HEADGATE_GRPC_TLS_CLIENT_CA'),
      'HEADGATE_GRPC_TLS_CLIENT_CA: is not set; HEADGATE_GRPC_TLS_CLIENT_NAME needs the authorities of the callers',
    ],
    [
      has('HEADGATE_REDIS_TLS_CERT') !== has('HEADGATE_REDIS_TLS_KEY'),
      `HEADGATE_REDIS_TLS_${withoutRedisKey}: is not set; a certificate for Redis needs its key`,
    ],
    [
      redisFile !== undefined && redis !== undefined && !redis.tls,
      `HEADGATE_REDIS_TLS_${redisFile}: the URL of Redis is without TLS, write rediss in place of redis`,
    ],
  ];
  return found.filter(([isWrong]) => isWrong).map(([, mistake]) => mistake);
}

const GRPC_TLS = ['CERT', 'KEY', 'CLIENT_CA', 'CLIENT_NAME'].map(
  (part) => `HEADGATE_GRPC_TLS_${part}`,
);
