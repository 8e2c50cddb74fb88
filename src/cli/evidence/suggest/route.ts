/** Routes: the parts of the traffic that get limits of their own. */
import type { CheckRequest } from '../../../gateway/core/check-request.ts';

export interface Route {
  /** The name of its policy; `default` for the rest. */
  readonly name: string;
  /** For people: `POST /api/login`, or the name of the policy. */
  readonly title: string;
  /** Undefined for the default, and for policies of a file. */
  readonly match: { readonly methods: readonly string[]; readonly path: string } | undefined;
  /** Units that one request takes. */
  readonly cost: number;
}

export interface Routes {
  readonly routes: readonly Route[];
  /** The indexes of the routes that requests of a group count for. */
  readonly ofGroup: readonly (readonly number[])[];
}

/** Finds the routes of requests. Those of one group count for the same routes. */
export interface RouteFinder {
  /** The number of the request's group; undefined for a request that a gateway would refuse. */
  groupOf(request: CheckRequest): number | undefined;
  /** After the last request. */
  routes(): Routes;
}
