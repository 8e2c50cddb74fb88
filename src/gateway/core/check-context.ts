import type { CheckRequest, HeaderFields } from './check-request.ts';
import type { Salts } from './identity/salts.ts';
import type { Overrides } from './overrides.ts';
import type { Trace } from './trace.ts';

export interface CheckContext {
  readonly nowMs: number;
  readonly salts: Salts;
  readonly overrides: Overrides;
  readonly trace: Trace | undefined;
}

export interface RequestContext extends CheckContext {
  /** A denial takes its trace id from them. */
  readonly headers: HeaderFields;
  readonly estimates: CheckRequest['estimates'];
}
