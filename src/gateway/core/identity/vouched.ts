/** What a trusted proxy vouches for: the value of a header that it sets, or what one of its filters has found out. */
import type { CheckRequest } from '../check-request.ts';
import { singleValue } from './header-value.ts';

export type Vouched = { readonly header: string } | VouchedMetadata;

/** The namespace of a filter's metadata, and the names on the way to the value. */
export interface VouchedMetadata {
  readonly metadata: string;
  readonly claim: readonly string[];
}

/** What it returns believes the proxy: callers ask only about requests of trusted ones. */
export function compileVouched(vouched: Vouched): (request: CheckRequest) => string | undefined {
  if ('header' in vouched) return ({ headers }) => singleValue(headers, vouched.header);
  return ({ metadata }) => metadata?.text(vouched.metadata, vouched.claim);
}

export function headersOf(vouched: readonly (Vouched | undefined)[]): string[] {
  return vouched.flatMap((each) => (each !== undefined && 'header' in each ? [each.header] : []));
}

/** Of the metadata that they name, without duplicates. */
export function namespacesOf(vouched: readonly (Vouched | undefined)[]): string[] {
  const named = vouched.flatMap((each) =>
    each !== undefined && 'metadata' in each ? [each.metadata] : [],
  );
  return [...new Set(named)];
}
