/** The names are those of envoy/service/ratelimit/v3/rls.proto and envoy/extensions/common/ratelimit/v3/ratelimit.proto. */
import type { Decision } from '../core/counting/decision.ts';
import type { NewDenialId } from '../core/denial-naming.ts';
import type { Entry, Rate } from './rules/rule.ts';

export interface RateLimitCall {
  domain: string;
  readonly descriptors: CallDescriptor[];
  /** Hits of each descriptor that has none of its own; 0 means 1. */
  hitsAddend: number;
}

export interface CallDescriptor {
  readonly entries: Entry[];
  limit: LimitOverride | undefined;
  /** Undefined: those of the call. 0: a check that counts nothing. */
  hitsAddend: number | undefined;
  /** The hits are given back. */
  isNegativeHits: boolean;
}

export interface LimitOverride {
  requestsPerUnit: number;
  /** The number of the unit, see `OVERRIDE_UNITS`. */
  unit: number;
  /** Units of a window. Undefined: one. */
  unitMultiplier: number | undefined;
}

export interface RateLimitAnswer {
  readonly isOverLimit: boolean;
  /** One for each descriptor of the call. */
  readonly statuses: readonly DescriptorStatus[];
  /** For the client: name, value, name, value. */
  readonly headers: readonly string[];
  /** For a client that is denied; empty: the body is Envoy's. */
  readonly body: string;
  readonly metadata: Readonly<Record<string, unknown>> | undefined;
}

export interface DescriptorStatus {
  readonly isOverLimit: boolean;
  /** Undefined if no limit applies, or an unlimited one. */
  readonly limit: StatusLimit | undefined;
  readonly remaining: number;
  /** Seconds. */
  readonly resetAfter: number;
}

export interface StatusLimit extends Rate {
  readonly name: string | undefined;
}

/** `limit_remaining` of an unlimited descriptor. */
export const UNLIMITED = 4_294_967_295;

/** A call that has no answer. It becomes a status of gRPC, and Envoy then does what its `failure_mode_deny` says. */
export class RefusedCall extends Error {
  override readonly name = 'RefusedCall';
  readonly code: 'invalid_argument' | 'unavailable';

  /** The message is ASCII without "%". */
  constructor(code: RefusedCall['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** An answer, and the decision that metrics, the log and operators see. */
export interface AnsweredCall {
  readonly answer: RateLimitAnswer;
  readonly decision: Decision;
}

export type HitOutcome = 'within' | 'near' | 'over' | 'shadow_over';

export interface AnswerEvents {
  readonly newId: NewDenialId;
  /** A rule counted hits. `limit` is its name in metrics. */
  counted(limit: string, outcome: HitOutcome, hits: number): void;
  wouldDeny(decision: Decision): void;
}

/** Of a call, and of a descriptor. Envoy sends one for each of its actions; each costs a keyed digest. */
const MOST_DESCRIPTORS = 128;
const MOST_ENTRIES = 128;

export function newOverride(): LimitOverride {
  return { requestsPerUnit: 0, unit: 0, unitMultiplier: undefined };
}

type NewEntry = { -readonly [name in keyof Entry]: Entry[name] };

export function newCall(): RateLimitCall {
  return { domain: '', descriptors: [], hitsAddend: 0 };
}

/** Throws a RefusedCall, so that a call with more than Envoy sends is refused before the rest is read. */
export function addDescriptor({ descriptors }: RateLimitCall): CallDescriptor {
  if (descriptors.length === MOST_DESCRIPTORS) {
    throw tooMany(`The call has more than ${MOST_DESCRIPTORS} descriptors.`);
  }
  const descriptor: CallDescriptor = {
    entries: [],
    limit: undefined,
    hitsAddend: undefined,
    isNegativeHits: false,
  };
  descriptors.push(descriptor);
  return descriptor;
}

/** Throws a RefusedCall. */
export function addEntry({ entries }: CallDescriptor): NewEntry {
  if (entries.length === MOST_ENTRIES) {
    throw tooMany(`A descriptor has more than ${MOST_ENTRIES} entries.`);
  }
  const entry: NewEntry = { key: '', value: '' };
  entries.push(entry);
  return entry;
}

function tooMany(text: string): RefusedCall {
  return new RefusedCall('invalid_argument', text);
}
