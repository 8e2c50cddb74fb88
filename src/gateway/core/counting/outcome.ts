/** What a request turned out to cost: limits that reserve or refund are corrected once its outcome is known. */

/** Where the units come from that a limit reserves when a request arrives. */
export type Reserve =
  | number
  /** A header that a trusted proxy sets. */
  | { readonly header: string }
  /** The namespace of typed metadata that Envoy sends with a check. */
  | { readonly metadata: string };

/** The namespace in which Envoy tells the tokens of a request to a language model. */
export const REQUEST_INFO = 'envoy.ai.request_info';

/** Which outcomes cost nothing. One match is enough. */
export interface Refund {
  readonly status: ReadonlySet<number>;
  /** By the name of a response header in lower case, the value that it must have. */
  readonly headers: ReadonlyMap<string, string>;
  /** The path to which a redirect leads. */
  readonly locations: ReadonlySet<string>;
}

/** How a limit charges afterwards. */
export interface Afterwards {
  /** What it counts, such as `tokens`. Undefined for requests. */
  readonly unit: string | undefined;
  /** Undefined if the cost of the policy is reserved. */
  readonly reserve: Reserve | undefined;
  /** Units for an outcome that does not tell how many it took. */
  readonly unknown: number | undefined;
  readonly refund: Refund | undefined;
}

/** What a channel reports about an answered request. */
export interface Outcome {
  /** Of the response of the upstream that answered last, never one that a proxy made. */
  readonly status?: number | undefined;
  /** Names are in lower case. */
  readonly headers?: ReadonlyMap<string, string> | undefined;
  /** By unit, the units that the request took. What is no whole number of at least 0 tells nothing. */
  readonly units?: ReadonlyMap<string, number> | undefined;
}

/**
 * What a reservation turned out to cost, in units. An outcome that does not tell costs the larger of `unknown` and the
 * reservation, so a client that aborts pays no less than one that reads to the end.
 */
export function unitsOf(
  { unit, unknown, refund }: Afterwards,
  outcome: Outcome,
  reserved: number,
): number {
  if (refund !== undefined && isRefunded(refund, outcome)) return 0;
  if (unit === undefined) return reserved;
  const units = outcome.units?.get(unit) ?? Number.NaN;
  return Number.isSafeInteger(units) && units >= 0 ? units : Math.max(unknown ?? 0, reserved);
}

/** The unit that is charged as unknown although the outcome tells units: most likely it is spelled differently there. */
export function missingUnit({ unit, refund }: Afterwards, outcome: Outcome): string | undefined {
  if (unit === undefined || outcome.units === undefined || outcome.units.has(unit))
    return undefined;
  return refund !== undefined && isRefunded(refund, outcome) ? undefined : unit;
}

function isRefunded({ status, headers, locations }: Refund, outcome: Outcome): boolean {
  if (outcome.status !== undefined && status.has(outcome.status)) return true;
  for (const [name, value] of headers) if (outcome.headers?.get(name) === value) return true;
  const location = outcome.headers?.get('location');
  if (location === undefined || !isRedirect(outcome)) return false;
  return locations.has(pathOf(location));
}

/** Other answers name what they created in this header. A channel may report headers without the status. */
function isRedirect({ status = 302 }: Outcome): boolean {
  return status >= 300 && status <= 399;
}

/** Without host, query and fragment: an application may redirect to a whole URL. */
function pathOf(location: string): string {
  const [, origin, path] = /^(https?:\/\/[^/?#\\]+)?(\/[^?#]*)?/i.exec(location) ?? [];
  return path ?? (origin === undefined ? '' : '/');
}
