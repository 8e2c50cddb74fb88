/** A request target that a proxy passes on in a header. */
import type { HeaderFields } from '../core/check-request.ts';

/**
 * The target, or undefined when there is none or there were two: Node joins those with a comma and a blank. A comma
 * alone is an ordinary character of a target, a blank never is.
 */
export function targetIn(headers: HeaderFields, name: string): string | undefined {
  const value = headers[name];
  if (typeof value !== 'string' || value === '') return undefined;
  return value.includes(', ') ? undefined : value;
}
