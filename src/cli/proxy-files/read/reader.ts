/** What the reader of each proxy says about a file. */
import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import type { ValidFile } from '../../../gateway/config/policy-file/valid-file.ts';
import { found } from './catalog.ts';
import type { Rewrite } from './rewrites.ts';
import type { Route } from './routes.ts';
import type { Site } from './unchecked-paths.ts';

export interface ProxyFile {
  readonly file: string;
  /** Where relative includes begin: the path of the file, even if its text came from elsewhere. */
  readonly path: string;
  readonly text: string;
  readonly policies: ValidFile | undefined;
}

/** Undefined if the file is not one of this proxy. Throws an Error if it is, and cannot be read. */
export type ReadProxyFile = (input: ProxyFile) => ReadFile | undefined;

export interface ReadFile {
  /** Undefined: nothing is compared, and only the findings are said. */
  readonly facts?: ProxyFacts;
  readonly sites?: readonly Site[];
  readonly routes?: readonly Route[];
  readonly rewrites?: readonly Rewrite[];
  /** What only a file of this proxy can have wrong. */
  readonly own?: readonly Diagnostic[];
  readonly unread?: readonly Diagnostic[];
  /** The name of the file with the check, if it is another one. */
  readonly file?: string;
  /** The text of all files that belong to it, if there are several. */
  readonly text?: string;
}

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
  /** Which requests are refused while no gateway answers, if the file is YAML: the entries of the printed region. */
  readonly refused?: readonly unknown[] | undefined;
  /** Where the file asks headgate, as `nginx.conf:12`. Undefined: the whole file is named. */
  readonly place?: string;
  readonly secretPlace?: string | undefined;
}

export const SECRET_HEADER = 'x-headgate-secret';
export const FROM_ENVIRONMENT = 'environment';

/** The first line of what `headgate proxy-config --include` prints. */
export const PRINTED_PART = /^\s*# headgate: part for /;
export function partOf(file: string, text: string): Diagnostic {
  const what = PRINTED_PART.test(text)
    ? 'is a part that headgate proxy-config has printed, and not a whole file'
    : 'is a part of an NGINX configuration: it has no block http';
  return found('part-of-proxy-file', file, what);
}
