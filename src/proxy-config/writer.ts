/** What the files of one proxy look like where they depend on the policy file and on settings. */
import type { ClientHeaders } from './client-headers.ts';
import type { FailureRules } from './gateway-failure.ts';
import type { WriteRegion } from './regions.ts';

export interface WriterInput {
  readonly headers: ClientHeaders;
  /** Undefined when no policy has `on_gateway_failure: deny`. */
  readonly failure: FailureRules | undefined;
  /** Whether the gateway wants to see a secret. */
  readonly sendsSecret: boolean;
}

/** A host and a port, or the path of a unix socket. */
export type Address =
  | { readonly host: string; readonly port: number }
  | { readonly socket: string };

export interface ShippedAddress {
  /** As the shipped file has it. */
  readonly shipped: string;
  /** How the proxy writes another one. Undefined: it cannot use it. */
  readonly write: (address: Address) => string | undefined;
}

export interface Writer {
  /** Below deploy/. */
  readonly file: string;
  /** Other files of the folder that the proxy needs; they depend on nothing. */
  readonly besides: readonly string[];
  readonly gateway: ShippedAddress;
  readonly application: ShippedAddress;
  /** Whether the proxy asks over gRPC. */
  readonly grpc?: boolean;
  /** By the name of the region. */
  regions(input: WriterInput): Readonly<Record<string, WriteRegion>>;
}

/** `10.0.0.2:8080`, `[::1]:8080` */
export function hostAndPort(address: Address): string | undefined {
  if ('socket' in address) return undefined;
  const { host, port } = address;
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The shipped lines are comments. With a secret they count. */
export function uncommentedWith(sendsSecret: boolean): WriteRegion {
  return (shipped) => (sendsSecret ? shipped.map((line) => line.replace(/^#/, '')) : shipped);
}
