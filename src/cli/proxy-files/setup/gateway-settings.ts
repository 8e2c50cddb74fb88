import { parseRedisUrl } from '../../../gateway/config/settings/redis-url.ts';
import { SHIPPED_PORT, usesGrpc, writerOf } from '../print/proxy-config.ts';
import { isHere } from '../proxy-address.ts';
import { type Answers, DEFAULT_ANSWERS, type GatewayPorts } from './answers.ts';

export interface Ports extends GatewayPorts {
  readonly proxy: number;
}

const DEFAULT_PORTS: Ports = { proxy: SHIPPED_PORT, ...DEFAULT_ANSWERS.ports };
/** Far enough from the ports that applications use beside their own. */
const OTHER = 100;

export function portsOf({ application, ports }: Pick<Answers, 'application' | 'ports'>): Ports {
  const taken = isHere(application) ? application.port : undefined;
  const free = (port: number) => (port === taken ? port + OTHER : port);
  const { check, grpc, ops } = ports;
  return { proxy: free(SHIPPED_PORT), check: free(check), grpc: free(grpc), ops: free(ops) };
}

export function ownPort(
  answers: Pick<Answers, 'proxy' | 'ownPort' | 'application' | 'ports'>,
): number | undefined {
  const { application } = answers;
  const taken = Object.values(portsOf(answers));
  if (isHere(application)) taken.push(application.port);
  let port = writerOf(answers.proxy).ownPort;
  while (port !== undefined && taken.includes(port)) port += OTHER;
  return answers.ownPort ?? port;
}

export function gatewayPort(proxy: string, ports: Ports): number {
  return usesGrpc(proxy) ? ports.grpc : ports.check;
}

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
    ...(usesGrpc(proxy)
      ? setting('HEADGATE_GRPC_PORT', ports.grpc, DEFAULT_PORTS.grpc)
      : [{ name: 'HEADGATE_GRPC_PORT', value: 'off' }]),
    ...setting('HEADGATE_OPS_PORT', ports.ops, DEFAULT_PORTS.ops),
    ...(redis === undefined
      ? []
      : [{ name: REDIS_SETTING, value: hasPassword(redis) ? undefined : redis }]),
  ];
}

export function hasPassword(url: string): boolean {
  return url.includes('@') || /password=/i.test(url) || parseRedisUrl(url).password !== undefined;
}
