/** The field numbers are those of envoy/service/ratelimit/v3/rls.proto and envoy/extensions/common/ratelimit/v3/ratelimit.proto. */
import { type Fields, number, readMessage } from '../../protobuf/reader.ts';
import {
  addDescriptor,
  addEntry,
  type CallDescriptor,
  type LimitOverride,
  newCall,
  newOverride,
  type RateLimitCall,
} from '../call.ts';

const ENTRY: Fields<ReturnType<typeof addEntry>> = {
  1: (reader, entry) => {
    entry.key = reader.utf8();
  },
  2: (reader, entry) => {
    entry.value = reader.utf8();
  },
};

const LIMIT: Fields<LimitOverride> = {
  1: number((limit, value) => {
    limit.requestsPerUnit = value;
  }),
  2: number((limit, value) => {
    limit.unit = value;
  }),
  3: (reader, limit) => {
    // 0 is refused.
    limit.unitMultiplier = reader.wrappedNumber();
  },
};

const DESCRIPTOR: Fields<CallDescriptor> = {
  1: (reader, descriptor) => {
    reader.message(ENTRY, addEntry(descriptor));
  },
  2: (reader, descriptor) => {
    descriptor.limit = reader.message(LIMIT, newOverride());
  },
  3: (reader, descriptor) => {
    // 0 is another thing than none.
    descriptor.hitsAddend = reader.wrappedNumber();
  },
  4: number((descriptor, value) => {
    descriptor.isNegativeHits = value !== 0;
  }),
};

const CALL: Fields<RateLimitCall> = {
  1: (reader, call) => {
    call.domain = reader.utf8();
  },
  2: (reader, call) => {
    reader.message(DESCRIPTOR, addDescriptor(call));
  },
  3: number((call, value) => {
    call.hitsAddend = value;
  }),
};

/** Throws MalformedMessage, or a RefusedCall for a call with more than Envoy sends. */
export function readCall(bytes: Buffer): RateLimitCall {
  return readMessage(bytes, CALL, newCall());
}
