import type { CheckRequest, HeaderFields } from './check-request.ts';
import type { KeyDirectory } from './identity/key-directory.ts';
import type { Salts } from './identity/salts.ts';
import type { Overrides } from './overrides.ts';
import type { Trace } from './trace.ts';

export interface CheckContext {
  readonly nowMs: number;
  readonly salts: Salts;
  readonly overrides: Overrides;
  /** The keys that the store lists, as far as they are known here. */
  readonly keys?: KeyDirectory | undefined;
  readonly trace: Trace | undefined;
}

export interface RequestContext extends CheckContext {
  /** A denial takes its trace id from them. */
  readonly headers: HeaderFields;
  readonly estimates: CheckRequest['estimates'];
  /** Resolves when the request has waited for the store as long as it may, if it has begun to wait. */
  readonly late: Promise<unknown> | undefined;
}
