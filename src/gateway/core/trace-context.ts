/** The trace that a request belongs to, as its `traceparent` header says: https://www.w3.org/TR/trace-context/ */
import type { HeaderFields } from './check-request.ts';
import { singleValue } from './identity/header-value.ts';

export interface TraceContext {
  /** 32 hexadecimal digits in lower case. */
  readonly traceId: string;
  /** The span that sent the request: 16 hexadecimal digits in lower case. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** A later version may append fields, so its value may go on after the flags. */
const TRACEPARENT =
  /^(?:00|(?!ff)[\da-f]{2}(?=.{53}(?:-|$)))-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})/;
const LENGTH = 55;
const SAMPLED = 1;

/** Returns undefined if the header is absent or invalid. The client may have invented the value. */
export function readTraceContext(headers: HeaderFields): TraceContext | undefined {
  const value = singleValue(headers, 'traceparent');
  if (value === undefined) return undefined;
  if (value.length !== LENGTH && value.startsWith('00')) return undefined;
  const [, traceId, spanId, flags] = TRACEPARENT.exec(value) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED };
}
