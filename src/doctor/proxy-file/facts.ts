/** What the file of a proxy says about its checks. */
export interface ProxyFacts {
  /** The name of `headgate proxy-config`. */
  readonly proxy: string;
  /** Names in lower case of the client's headers that headgate gets; `all` if the proxy passes on every header. */
  readonly passed: ReadonlySet<string> | 'all';
  /** Names in lower case of headers that the proxy sets or removes itself. */
  readonly owned: ReadonlySet<string>;
  /** Undefined: the proxy sends none. `environment`: it reads the secret from its own environment. */
  readonly secret: string | undefined;
  /** Where the proxy asks: `127.0.0.1:8080`, or `unix:/run/headgate.sock`. Empty if the file does not say. */
  readonly gateways: readonly string[];
  /** A 429 does not reach the client. */
  readonly losesDenials: boolean;
  /** Every request is refused while no gateway answers. */
  readonly refusesAll: boolean;
  /** Where the file asks headgate, as `nginx.conf:12`. Undefined: the whole file is named. */
  readonly place?: string;
  /** Where it names the secret, if `place` is known. */
  readonly secretPlace?: string | undefined;
}

/** Undefined if the text is not a file of this proxy that asks headgate. */
export type ReadFacts = (text: string) => ProxyFacts | undefined;

export const SECRET_HEADER = 'x-headgate-secret';
export const FROM_ENVIRONMENT = 'environment';
