/** The settings of the gateway that the written files need, as environment variables. */
import { parseRedisUrl } from '../../../gateway/config/settings/redis-url.ts';
import { asksOverGrpc } from '../print/proxy-config.ts';
import type { Answers } from './answers.ts';
import { DEFAULT_PORTS, type Ports } from './ports.ts';

export const REDIS_SETTING = 'HEADGATE_REDIS_URL';

export interface Setting {
  readonly name: string;
  /** Undefined for a secret, which headgate writes nowhere. */
  readonly value: string | undefined;
}

export function gatewaySettings(
  { proxy, redis }: Pick<Answers, 'proxy' | 'redis'>,
  ports: Ports,
): Setting[] {
  const setting = (name: string, port: number, usual: number): Setting[] =>
    port === usual ? [] : [{ name, value: String(port) }];
  return [
    ...setting('HEADGATE_PORT', ports.check, DEFAULT_PORTS.check),
    ...(asksOverGrpc(proxy)
      ? setting('HEADGATE_GRPC_PORT', ports.grpc, DEFAULT_PORTS.grpc)
      : [{ name: 'HEADGATE_GRPC_PORT', value: 'off' }]),
    ...setting('HEADGATE_OPS_PORT', ports.ops, DEFAULT_PORTS.ops),
    ...(redis === undefined
      ? []
      : [{ name: REDIS_SETTING, value: hasPassword(redis) ? undefined : redis }]),
  ];
}

/** Whether the URL has a password, in any part of it. */
export function hasPassword(url: string): boolean {
  return url.includes('@') || /password=/i.test(url) || parseRedisUrl(url).password !== undefined;
}
