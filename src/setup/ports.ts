/** The ports of the written files. They are those of the shipped files, unless the application has one of them. */
import { asksOverGrpc, isHere, ownPortOf, SHIPPED_PORT } from '../proxy-config/proxy-config.ts';
import type { Answers } from './answers.ts';

export interface Ports {
  /** Where clients connect. */
  readonly proxy: number;
  /** Where the gateway answers over HTTP. */
  readonly check: number;
  /** Where the gateway answers over gRPC. */
  readonly grpc: number;
  readonly ops: number;
}

export const DEFAULT_PORTS: Ports = { proxy: SHIPPED_PORT, check: 8080, grpc: 8081, ops: 9464 };
/** Far enough from the ports that applications use beside their own. */
const OTHER = 100;

export function portsOf({ application }: Pick<Answers, 'application'>): Ports {
  const taken = isHere(application) ? application.port : undefined;
  const free = (port: number) => (port === taken ? port + OTHER : port);
  const { proxy, check, grpc, ops } = DEFAULT_PORTS;
  return { proxy: free(proxy), check: free(check), grpc: free(grpc), ops: free(ops) };
}

/** Where the proxy sends checks to itself; undefined if it does not. */
export function ownPort({
  proxy,
  ownPort: said,
  application,
}: Pick<Answers, 'proxy' | 'ownPort' | 'application'>): number | undefined {
  const shipped = ownPortOf(proxy);
  const isTaken = isHere(application) && application.port === shipped;
  return said ?? (shipped !== undefined && isTaken ? shipped + OTHER : shipped);
}

/** Where the gateway answers this proxy. */
export function gatewayPort(proxy: string, ports: Ports): number {
  return asksOverGrpc(proxy) ? ports.grpc : ports.check;
}
