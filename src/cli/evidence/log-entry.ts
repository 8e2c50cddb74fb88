/** One request, as an access log tells it. Texts have one character per byte, like header values. */
export interface LogEntry {
  /** When the request started, or as near as the log says, in milliseconds since the epoch. May have fractions. */
  readonly startMs: number;
  readonly method: string;
  /** The request target as the client spelled it, query included. */
  readonly target: string;
  /** Undefined if the log does not say, like everything below. */
  readonly host: string | undefined;
  /** The address that connected to the proxy, or that the proxy took for the client's. Without a port. */
  readonly address: string | undefined;
  /** X-Forwarded-For, as far as the proxy received it. */
  readonly forwardedFor: string | undefined;
  readonly status: number | undefined;
  readonly userAgent: string | undefined;
  /** The values of the fields that the caller asked for by name, in that order. */
  readonly fields: readonly (string | undefined)[];
}
