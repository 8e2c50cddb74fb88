import type { Address } from '../proxy-address.ts';
import type { ClientHeaders } from './client-headers.ts';
import type { FailureRules } from './gateway-failure.ts';
import type { WriteRegion } from './regions.ts';

export interface WriterInput {
  readonly headers: ClientHeaders;
  /** Namespaces of Envoy's metadata. */
  readonly metadata: readonly string[];
  /** Undefined if no policy has `on_gateway_failure: deny`. */
  readonly failure: FailureRules | undefined;
  readonly sendsSecret: boolean;
  /** The application gets settle tokens: always from a whole file, and by a part if some limit charges afterwards. */
  readonly passesToken: boolean;
}

export interface ShippedAddress {
  readonly shipped: string;
  readonly write: (address: Address) => string | undefined;
}

export type Front =
  | { readonly kind: 'cloudflare' }
  | { readonly kind: 'load-balancer'; readonly networks: readonly string[] };

export type Edits = Readonly<Record<string, string>>;

/** The keys are paths below deploy/. */
export type FileEdits = Readonly<Record<string, Edits>>;

export interface Include {
  readonly place: string;
  readonly file?: string;
  readonly line: string;
  /** Says where the line goes. */
  readonly goes: string;
}

export interface Writer {
  readonly file: string;
  /** Other files that the proxy needs. They are used unchanged. */
  readonly besides?: readonly string[];
  readonly gateway: ShippedAddress;
  readonly application: ShippedAddress;
  readonly ownPort?: number;
  /** The text with the port for clients: in `file`, or in one of `besides`. */
  readonly listener: string;
  /** Edits by which the proxy learns the client's address behind Cloudflare. Files that are not named yet are added. */
  readonly cloudflare?: FileEdits;
  loadBalancer?(networks: readonly string[]): FileEdits;
  readonly grpc?: boolean;
  /** Lines for an existing configuration. Without them, parts are put in by hand. */
  readonly includes?: readonly Include[];
  regions(input: WriterInput): Readonly<Record<string, WriteRegion>>;
}

/** The shipped lines are comments. */
export function uncommentedWith(sendsSecret: boolean): WriteRegion {
  return (shipped) => (sendsSecret ? shipped.map((line) => line.replace(/^#/, '')) : shipped);
}
