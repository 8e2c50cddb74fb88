/** Where the control plane listens. Envoy Gateway's address for its rate limit service is envoy-gateway:18001. */
import { ConfigError } from '../config-error.ts';

export interface Target {
  /** A name, or an address of IPv4 or IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

const EXAMPLE = 'write host:port, for example envoy-gateway:18001';
/** gRPC libraries accept these too, for a name that the DNS resolves. */
const DNS_SCHEME = /^dns:(?:\/\/\/)?/;
const HOST_AND_PORT = /^(?:\[([\da-fA-F:.]+)\]|([\w.-]+)):(\d{1,5})$/;

/** Reads `host:port`, `[::1]:port` and `dns:///host:port`. Throws a ConfigError. */
export function parseTarget(text: string): Target {
  const [, ipv6, name, digits] = HOST_AND_PORT.exec(text.replace(DNS_SCHEME, '')) ?? [];
  const host = ipv6 ?? name;
  const port = Number(digits);
  if (host !== undefined && port >= 1 && port <= 65_535) return { host, port };
  throw new ConfigError([`the control plane's address is "${text}", ${EXAMPLE}`]);
}

/** The opposite of `parseTarget`. */
export function targetText({ host, port }: Target): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
