import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import type { ValidFile } from '../../../gateway/config/policy-file/valid-file.ts';
import type { VouchedMetadata } from '../../../gateway/core/identity/vouched.ts';
import { found } from './catalog.ts';
import type { Rewrite } from './rewrites.ts';
import type { Route, Site } from './unchecked-paths.ts';

export interface ProxyFile {
  readonly file: string;
  /** Relative includes begin here, even if the text came from elsewhere. */
  readonly path: string;
  readonly text: string;
  readonly policies: ValidFile | undefined;
}

/** Returns undefined for a file of another proxy, and throws an Error if the file cannot be read. */
export type ReadProxyFile = (input: ProxyFile) => ReadFile | undefined;

export interface ReadFile {
  /** Without facts, nothing is compared. */
  readonly facts?: ProxyFacts;
  readonly sites?: readonly Site[];
  readonly routes?: readonly Route[];
  readonly rewrites?: readonly Rewrite[];
  readonly own?: readonly Diagnostic[];
  readonly unread?: readonly Diagnostic[];
  /** The file with the check and the text of all files, if they differ from the input. */
  readonly file?: string;
  readonly text?: string;
}

export interface ProxyFacts {
  readonly proxy: string;
  /** Names in lower case of the client's headers that headgate gets. */
  readonly passed: ReadonlySet<string> | 'all';
  /** Names in lower case of headers that the proxy sets or removes. */
  readonly owned: ReadonlySet<string>;
  /** Namespaces of Envoy's metadata that headgate gets; undefined for proxies that have none. */
  readonly metadata?: ReadonlySet<string>;
  /** Why no filter of the proxy writes this metadata; undefined if one may. */
  readonly unwritten?: (named: VouchedMetadata) => string | undefined;
  readonly secret: string | undefined;
  /** `127.0.0.1:8080` or `unix:/run/headgate.sock`; empty if the file does not name one. */
  readonly gateways: readonly string[];
  readonly losesDenials?: boolean;
  /** Applies while no gateway answers. */
  readonly refusesAll?: boolean;
  /** The entries of the printed region for a gateway failure, if the file is YAML. */
  readonly refused?: readonly unknown[] | undefined;
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
