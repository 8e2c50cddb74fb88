/** What a check depends on besides the request and the policies: the same values from its start to its end. */
import type { HeaderFields } from './check-request.ts';
import type { Salts } from './identity/salts.ts';
import type { Overrides } from './overrides.ts';
import type { Trace } from './trace.ts';

export interface CheckContext {
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  readonly salts: Salts;
  readonly overrides: Overrides;
  /** Observes the check, for `explain`. */
  readonly trace: Trace | undefined;
}

/** What counting a request depends on besides. */
export interface RequestContext extends CheckContext {
  /** Of the request: a denial takes its trace id from them. */
  readonly headers: HeaderFields;
}
