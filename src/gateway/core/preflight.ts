import type { HeaderFields } from './check-request.ts';
import { singleValue } from './identity/header-value.ts';

export const ORIGIN = 'origin';
export const REQUESTED_METHOD = 'access-control-request-method';

/**
 * Whether a browser checks with this request if it may send another one (Fetch standard, "CORS-preflight request"). Pages
 * cannot keep their browsers from it, so it must not use up the limits of that other request.
 */
export function isPreflight({ method, headers }: SentRequest): boolean {
  if (method !== 'OPTIONS' || headers === undefined) return false;
  return [ORIGIN, REQUESTED_METHOD].every((name) => singleValue(headers, name) !== undefined);
}

export interface SentRequest {
  readonly method: string;
  readonly headers?: HeaderFields | undefined;
}
