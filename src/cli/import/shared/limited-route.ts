import type { FilePlace } from '../../proxy-files/file-place.ts';
import type { ImportedRules } from './imported-limit.ts';
import type { RequestSet } from './request-set.ts';

export interface LimitedRoute extends RequestSet {
  /** What counts its requests together; empty if they are not limited. */
  readonly owner: string;
  readonly name: string;
  /** What people call it: `router api`. */
  readonly title: string;
  readonly rules: ImportedRules;
  /** The route answers only requests that fulfil this, too, which a policy file cannot have: `its headers`. */
  readonly condition?: string | undefined;
  /** It has limits, and none could be carried over. */
  readonly isLeftOut?: boolean;
  /** The expression of the route matches more paths than the template. */
  readonly isNarrower?: boolean;
  /** A route takes no requests from those of other entry points. */
  readonly entry?: string | undefined;
  /** Of the routes of a request, the one with the highest numbers answers, the first number first. */
  readonly rank?: readonly number[];
  readonly place: FilePlace;
}

/** The routes that may answer requests of a set which are in no smaller set. */
export interface Answer<R> {
  readonly set: RequestSet;
  readonly found: readonly R[];
  readonly limited: readonly R[];
  /** Undefined if nobody knows what limits them: the policy around the set applies. */
  readonly owner: string | undefined;
}

export function isLimited({ rules }: LimitedRoute): boolean {
  return rules.limits.length > 0;
}

/** No route behind it gets a request of its set. */
export function isCertain({ condition, isLeftOut }: LimitedRoute): boolean {
  return condition === undefined && isLeftOut !== true;
}
