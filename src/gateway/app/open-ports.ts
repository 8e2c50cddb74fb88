/** Whether other machines can reach the ports of proxies. */
import type { AddressInfo } from 'node:net';
import type { Environment } from '../config/settings/environment.ts';
import { canonicalAddress, isLoopback } from '../core/identity/address.ts';
import type { ProxyPorts } from '../server/proxy-ports.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

/** Logs a warning if other machines can reach the ports, and no secret is set. */
export function warnIfOpen(
  { check, grpc, json }: Pick<ProxyPorts, 'check' | 'grpc' | 'json'>,
  { proxySecrets }: Pick<Environment, 'proxySecrets'>,
  events: Pick<Telemetry['proxies'], 'checkPortOpen'>,
): void {
  const isOpen = [check, grpc, json].some(
    (place) => typeof place === 'object' && !isPrivate(place),
  );
  if (isOpen && proxySecrets.length === 0) events.checkPortOpen();
}

function isPrivate({ address }: AddressInfo): boolean {
  return isLoopback(canonicalAddress(address) ?? '');
}
