/** Reads how many units a request reserves, for limits that do not reserve a fixed number. */
import type { CheckRequest, HeaderFields } from '../check-request.ts';
import { singleValue } from '../identity/header-value.ts';
import type { Reserve } from './outcome.ts';

interface Estimated {
  readonly headers?: HeaderFields | undefined;
  readonly estimates?: CheckRequest['estimates'];
}

/** Undefined if the request does not say it once, as a whole number of at least 0. */
export function reservedBy(
  reserve: Exclude<Reserve, number>,
  { headers, estimates }: Estimated,
): number | undefined {
  const value =
    'metadata' in reserve
      ? estimates?.get(reserve.metadata)?.toString()
      : headers && singleValue(headers, reserve.header);
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined;
}
