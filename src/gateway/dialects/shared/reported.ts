/** What a proxy reports about addresses, and that it sent all that it must send. */
import type { HeaderFields, ReportedAddresses } from '../../core/check-request.ts';

export const NOTHING_MISSING: readonly string[] = [];

const X_FORWARDED_FOR = 'x-forwarded-for';
const FORWARDED = 'forwarded';

/** `names`: the headers that peer and client come from. Computed once for each dialect. */
export function addressHeaders(...names: readonly (string | undefined)[]): readonly string[] {
  const all = [...names, X_FORWARDED_FOR, FORWARDED];
  return [...new Set(all.filter((name) => name !== undefined))];
}

export function withForwardedLists(
  reported: Omit<ReportedAddresses, 'forwardedFor' | 'forwarded'>,
  headers: HeaderFields,
): ReportedAddresses {
  return {
    proxy: reported.proxy,
    peer: reported.peer,
    client: reported.client,
    forwardedFor: headers[X_FORWARDED_FOR]?.toString(),
    forwarded: headers[FORWARDED]?.toString(),
    headers: reported.headers,
  };
}
