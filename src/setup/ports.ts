/** The ports of the written files: those of the settings, unless the application has one of them. */
import { canonicalAddress, isLoopback } from '../core/address.ts';
import { asksOverGrpc, SHIPPED_PORT } from '../proxy-config/proxy-config.ts';
import { type Answers, DEFAULT_ANSWERS, type Endpoint, type GatewayPorts } from './answers.ts';

export interface Ports extends GatewayPorts {
  /** Where clients connect. */
  readonly proxy: number;
}

export const DEFAULT_PORTS: Ports = { proxy: SHIPPED_PORT, ...DEFAULT_ANSWERS.ports };
/** Far enough from the ports that applications use beside their own. */
const OTHER = 100;

/** Ports of this machine that the files of a proxy use for its calls to itself. */
const OWN_CALLS: Readonly<Record<string, number>> = { haproxy: 8090, traefik: 8082 };

export function portsOf({ application, ports }: Pick<Answers, 'application' | 'ports'>): Ports {
  const taken = isHere(application) ? application.port : undefined;
  const free = (port: number) => (port === taken ? port + OTHER : port);
  const { check, grpc, ops } = ports;
  return { proxy: free(SHIPPED_PORT), check: free(check), grpc: free(grpc), ops: free(ops) };
}

/** Why the application cannot be there; undefined if it can. */
export function applicationProblem(proxy: string, application: Endpoint): string | undefined {
  const calls = OWN_CALLS[proxy];
  if (!isHere(application) || application.port !== calls) return undefined;
  return `the files for ${proxy} use port ${calls} of this machine themselves: give the application another port, or use another proxy`;
}

/** Where the gateway answers this proxy. */
export function gatewayPort(proxy: string, ports: Ports): number {
  return asksOverGrpc(proxy) ? ports.grpc : ports.check;
}

/** Whether it is on the machine of the gateway. */
function isHere({ host }: Endpoint): boolean {
  return host.toLowerCase() === 'localhost' || isLoopback(canonicalAddress(host) ?? '');
}
