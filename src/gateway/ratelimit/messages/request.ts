/** The field numbers are those of envoy/service/ratelimit/v3/rls.proto and envoy/extensions/common/ratelimit/v3/ratelimit.proto. */
import { type Fields, message, number, readMessage } from '../../protobuf/reader.ts';
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

/** A `UInt32Value`. */
const MULTIPLIER: Fields<LimitOverride> = {
  1: number((limit, value) => {
    limit.unitMultiplier = value;
  }),
};

const LIMIT: Fields<LimitOverride> = {
  1: number((limit, value) => {
    limit.requestsPerUnit = value;
  }),
  2: number((limit, value) => {
    limit.unit = value;
  }),
  3: (reader, limit) => {
    // Without a value it is 0, which is refused.
    limit.unitMultiplier = 0;
    message(MULTIPLIER)(reader, limit);
  },
};

/** A `UInt64Value`. */
const HITS: Fields<CallDescriptor> = {
  1: number((descriptor, value) => {
    descriptor.hitsAddend = value;
  }),
};

const DESCRIPTOR: Fields<CallDescriptor> = {
  1: (reader, descriptor) => {
    reader.message(ENTRY, addEntry(descriptor));
  },
  2: (reader, descriptor) => {
    descriptor.limit = reader.message(LIMIT, newOverride());
  },
  3: (reader, descriptor) => {
    // Without a value it is 0, which is another thing than none.
    descriptor.hitsAddend = 0;
    message(HITS)(reader, descriptor);
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
