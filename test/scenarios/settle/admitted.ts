/** An admitted request, and what was reported of it. */
import { type Outcome, specOf, suffixOf } from './policies.ts';
import type { ReadToken, TokenPart } from './token.ts';

export interface Report {
  readonly outcome: Outcome;
  /** Of the policy file. */
  readonly version: number;
  /** Undefined over ALS, which answers nothing. */
  readonly verdict: string | undefined;
}

export interface Admitted {
  readonly token: ReadToken;
  readonly version: number;
  readonly reports: Report[];
}

export function keyOf(part: TokenPart, version: number): string | undefined {
  const spec = specOf(version, part.digest);
  return spec && `hg:v1:{${part.partition}}${suffixOf(spec)}`;
}

/** Another report of the same token came later, or in vain. */
export function reportThatCounted({ reports }: Admitted): Report | undefined {
  const counted = reports.find(({ verdict }) =>
    ['settled', 'gone', 'reset'].includes(verdict ?? ''),
  );
  return counted ?? reports.find(({ verdict }) => verdict === undefined);
}
