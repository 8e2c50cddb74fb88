import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import { type RedisAddress, redisPlace } from '../../../gateway/config/settings/redis-url.ts';
import { found } from '../catalog.ts';

/** Each message follows the name of the server, which `on` adds. With a fault, gateways cannot count there. */
export const fine = (message: string) => found('redis', '', message);
export const note = (message: string) => found('redis-note', '', message);
export const warning = (message: string) => found('redis-warning', '', message);
export const fault = (message: string) => found('redis-fault', '', message);

export function on(server: RedisAddress, diagnostic: Diagnostic): Diagnostic {
  return { ...diagnostic, file: `redis ${redisPlace(server)}` };
}

export function levelOf({ rule }: Diagnostic): string {
  return rule === 'redis' ? 'fine' : rule.replace('redis-', '');
}
