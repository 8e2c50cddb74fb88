/** Routers and middlewares of Traefik, wherever they are configured. */

import type { FilePlace } from '../../proxy-files/file-place.ts';
import type { Finding } from '../shared/finding.ts';

/** The value of an option, and its place. */
export interface Option {
  readonly text: string;
  readonly place: FilePlace;
}

/** The options of a middleware, by their path in lower case: `sourcecriterion.ipstrategy.depth`. */
export type Options = ReadonlyMap<string, Option>;

export interface Middleware {
  readonly name: string;
  /** In lower case: `ratelimit`, `inflightreq`, `chain`. */
  readonly kind: string;
  readonly options: Options;
  /** The middlewares of a chain. */
  readonly chain: readonly string[];
  readonly place: FilePlace;
}

export interface Router {
  readonly name: string;
  readonly rule: string;
  readonly middlewares: readonly string[];
  readonly hasPriority: boolean;
  readonly place: FilePlace;
}

export interface Parts {
  readonly middlewares: readonly Middleware[];
  readonly routers: readonly Router[];
  readonly findings: readonly Finding[];
}

/** `limit@file` is the middleware `limit`. */
export function withoutProvider(name: string): string {
  return name.trim().replace(/@[\w-]+$/, '');
}
