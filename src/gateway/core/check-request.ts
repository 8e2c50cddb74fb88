export type HeaderFields = Readonly<Record<string, string | string[] | undefined>>;

export interface ReportedAddresses {
  /** The other end of the gateway's connection. */
  readonly proxy: string;
  readonly peer: string | undefined;
  readonly client: string | undefined;
  readonly forwardedFor: string | undefined;
  readonly forwarded: string | undefined;
  /** Names of the headers that all of these but `proxy` come from. */
  readonly headers: readonly string[];
}

export interface CheckRequest {
  readonly method: string;
  readonly host: string;
  /** The request target, query included; unless the proxy says otherwise, as the client spelled it. */
  readonly target: string;
  /** If the proxy has changed what the client sent. The policies of both apply. */
  readonly sentTarget?: string | undefined;
  /** Names are in lower case. Only identity reads them, and only the ones that the policy file names. */
  readonly headers: HeaderFields;
  readonly addresses: ReportedAddresses;
  /** The policy that the proxy names for this route; it replaces the matching one. */
  readonly policy: string | undefined;
  /** The id that the proxy gave this request. A second check of the same request has the same id. */
  readonly requestId: string | undefined;
  /** Units that Envoy's metadata estimates for this request, by the namespace. */
  readonly estimates?: ReadonlyMap<string, number> | undefined;
  /** What the proxy's filters have found out. Only trusted proxies are believed. */
  readonly metadata?: ProxyMetadata | undefined;
  readonly missing: readonly string[];
}

/** Metadata of a proxy's filters, such as the claims of a token that one of them has verified. It is read when it is needed. */
export interface ProxyMetadata {
  /**
   * The value at this path of names below the namespace of a filter: a text, or a whole number as digits, also if it is the
   * only member of a list. Undefined if there is nothing, or something else.
   */
  text(namespace: string, path: readonly string[]): string | undefined;
}

/** The list that the proxy maintains. The client can write the other one. */
export type ForwardedHeader = 'x-forwarded-for' | 'forwarded';
