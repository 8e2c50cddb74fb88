/** Settings of TLS to Redis. */
import type { RedisTarget, RedisTlsFiles } from './redis-target.ts';
import { pathSetting, type ReadSetting } from './setting.ts';

function path(name: string, meaning: string, fallbackWords = 'none') {
  return pathSetting({ name, meaning, fallbackWords, topic: 'counts' });
}

export const REDIS_TLS_SETTINGS = {
  redisCa: path(
    'HEADGATE_REDIS_TLS_CA',
    'File with the certificates of the authorities that Redis must have its certificate from.',
    'those that Node trusts',
  ),
  redisCertificate: path(
    'HEADGATE_REDIS_TLS_CERT',
    'File with the certificate that headgate shows to Redis, for a Redis that requires one.',
  ),
  redisKey: path('HEADGATE_REDIS_TLS_KEY', 'File with the key of that certificate.'),
};

/** The target with the files that its connections use. */
export function withTlsFiles(
  target: RedisTarget | undefined,
  read: ReadSetting,
): RedisTarget | undefined {
  const tlsFiles: RedisTlsFiles = {
    ca: read(REDIS_TLS_SETTINGS.redisCa),
    certificate: read(REDIS_TLS_SETTINGS.redisCertificate),
    key: read(REDIS_TLS_SETTINGS.redisKey),
  };
  const isNeeded = Object.values(tlsFiles).some((path) => path !== undefined);
  return target !== undefined && isNeeded ? { ...target, tlsFiles } : target;
}

/** Half of a set-up would connect without the certificate, or without TLS. */
export function redisTlsMistakes(
  { redis }: { readonly redis: RedisTarget | undefined },
  variables: NodeJS.ProcessEnv,
): string[] {
  const {
    HEADGATE_REDIS_TLS_CA: ca,
    HEADGATE_REDIS_TLS_CERT: certificate,
    HEADGATE_REDIS_TLS_KEY: key,
  } = variables;
  const first = [ca && 'CA', certificate && 'CERT', key && 'KEY'].find(Boolean);
  if (first === undefined) return [];
  const missing = certificate ? 'KEY' : 'CERT';
  return [
    ...(Boolean(certificate) === Boolean(key)
      ? []
      : [`HEADGATE_REDIS_TLS_${missing}: is not set; a certificate for Redis needs its key`]),
    ...(redis === undefined || redis.tls
      ? []
      : [
          `HEADGATE_REDIS_TLS_${first}: the URL of Redis is without TLS, write rediss in place of redis`,
        ]),
  ];
}
