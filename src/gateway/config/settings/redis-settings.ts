import { z } from 'zod';
import { holds } from '../refinement.ts';
import { parseRedisUrl, REDIS_URL_FORM } from './redis-url.ts';
import { pathSetting, setting } from './setting.ts';

function redisFile(name: string, meaning: string, fallbackWords = 'none') {
  return pathSetting({ name, meaning, fallbackWords, topic: 'counts' });
}

export const REDIS_SETTINGS = {
  target: setting({
    name: 'HEADGATE_REDIS_URL',
    otherName: 'REDIS_URL',
    topic: 'counts',
    meaning:
      'The Redis in which gateways count together. `rediss` in place of `redis` uses TLS. See [Redis](redis.md).',
    expected: REDIS_URL_FORM,
    schema: z.string().transform(holds(parseRedisUrl)),
    fallback: undefined,
    fallbackWords: 'none: each process counts in its own memory',
    // It may contain a password.
    isSecret: true,
  }),
  ca: redisFile(
    'HEADGATE_REDIS_TLS_CA',
    'File with the certificates of the authorities that Redis must have its certificate from.',
    'those that Node trusts',
  ),
  certificate: redisFile(
    'HEADGATE_REDIS_TLS_CERT',
    'File with the certificate that headgate shows to Redis, for a Redis that requires one.',
  ),
  key: redisFile('HEADGATE_REDIS_TLS_KEY', 'File with the key of that certificate.'),
};
