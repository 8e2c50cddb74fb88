import { InvalidArgumentError } from 'commander';
import { isThisMachine } from '../../gateway/core/identity/address.ts';
import { countUpTo } from '../output/numbers.ts';

export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** A host and a port, or the path of a unix socket. */
export type Address = HostAndPort | { readonly socket: string };

const SERVER = 'It must be a host and a port, such as 10.0.0.2:8080 or [::1]:8080';

export const OWN_PORT = [
  '--own-port <port>',
  'free port of this machine at which Caddy, HAProxy or Traefik sends checks to itself',
  countUpTo(65_535),
] as const;

/** A host and a port, or a unix socket. Throws an InvalidArgumentError. */
export function readAddress(text: string): Address {
  const socket = /^unix:(\/[\w./-]+)$/.exec(text)?.[1];
  if (socket !== undefined) return { socket };
  return readServer(text, `${SERVER}, or unix: and a path.`);
}

/** A host and a port. Throws an InvalidArgumentError. */
export function readServer(text: string, form = `${SERVER}.`): HostAndPort {
  const [, ipv6, name, digits] = /^(?:\[([0-9a-f:.]+)\]|([\w.-]+)):(\d{1,5})$/i.exec(text) ?? [];
  const host = ipv6 ?? name;
  const port = Number(digits);
  if (host === undefined || port < 1 || port > 65_535) throw new InvalidArgumentError(form);
  return { host, port };
}

/** Returns undefined for a unix socket. */
export function hostAndPort(address: Address): string | undefined {
  if ('socket' in address) return undefined;
  const { host, port } = address;
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

export function isHere(address: Address): address is HostAndPort {
  return 'host' in address && isThisMachine(address.host);
}
