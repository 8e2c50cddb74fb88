/** How to write the parts of a proxy's file that depend on the policy file and the settings. */
import { canonicalAddress, isLoopback } from '../../../gateway/core/identity/address.ts';
import type { ClientHeaders } from './client-headers.ts';
import type { FailureRules } from './gateway-failure.ts';
import type { WriteRegion } from './regions.ts';

export interface WriterInput {
  readonly headers: ClientHeaders;
  /** Undefined if no policy has `on_gateway_failure: deny`. */
  readonly failure: FailureRules | undefined;
  readonly sendsSecret: boolean;
}

/** A host and a port, or the path of a unix socket. */
export type Address =
  | { readonly host: string; readonly port: number }
  | { readonly socket: string };

export interface ShippedAddress {
  readonly shipped: string;
  /** Writes another address. Undefined: the proxy cannot use it. */
  readonly write: (address: Address) => string | undefined;
}

/** What stands between the clients and the proxy. */
export type Front =
  | { readonly kind: 'cloudflare' }
  /** CIDR ranges, at least one. */
  | { readonly kind: 'load-balancer'; readonly networks: readonly string[] };

/** Texts of a file and what replaces them. */
export type Edits = Readonly<Record<string, string>>;

/** By path below deploy/. */
export type FileEdits = Readonly<Record<string, Edits>>;

export interface Include {
  /** Names the part, as in `--include PLACE`. */
  readonly place: string;
  readonly file?: string;
  /** The line that includes it, and where it goes, in words. */
  readonly line: string;
  readonly goes: string;
}

export interface Writer {
  readonly file: string;
  /** Other files of the folder that the proxy needs. They are used unchanged. */
  readonly besides: readonly string[];
  readonly gateway: ShippedAddress;
  readonly application: ShippedAddress;
  /** The port of this machine at which the proxy sends checks to itself, in the shipped files. */
  readonly ownPort?: number;
  /** Where clients connect: a text with the shipped port, in the file of that path below deploy/. */
  readonly listener: { readonly file: string; readonly shipped: string };
  /** How the proxy learns the client's address behind Cloudflare. Files that the writer does not name are added. */
  readonly cloudflare?: FileEdits;
  /** How it learns that behind load balancers of these networks. */
  loadBalancer?(networks: readonly string[]): FileEdits;
  readonly grpc?: boolean;
  /** Files that an existing configuration includes, each with a part. Without them, parts are put in by hand. */
  readonly includes?: readonly Include[];
  regions(input: WriterInput): Readonly<Record<string, WriteRegion>>;
}

export function hostAndPort(address: Address): string | undefined {
  if ('socket' in address) return undefined;
  const { host, port } = address;
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

export function isHere(
  address: Address,
): address is { readonly host: string; readonly port: number } {
  if ('socket' in address) return false;
  const { host } = address;
  return host.toLowerCase() === 'localhost' || isLoopback(canonicalAddress(host) ?? '');
}

/** The shipped lines are comments. With a secret they are uncommented. */
export function uncommentedWith(sendsSecret: boolean): WriteRegion {
  return (shipped) => (sendsSecret ? shipped.map((line) => line.replace(/^#/, '')) : shipped);
}
