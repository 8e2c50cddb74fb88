/**
 * Reads `RateLimitRequest`. The field numbers are those of envoy/service/ratelimit/v3/rls.proto and
 * envoy/extensions/common/ratelimit/v3/ratelimit.proto.
 */
import { type Fields, message, number, ProtobufReader } from '../../protobuf/reader.ts';
import {
  type CallDescriptor,
  type LimitOverride,
  type RateLimitCall,
  RefusedCall,
} from '../call.ts';
import type { Entry } from '../rules/rule.ts';

/** Of a call, and of a descriptor. Envoy sends one for each of its actions; each costs a keyed digest. */
const MOST_DESCRIPTORS = 128;
const MOST_ENTRIES = 128;

const ENTRY: Fields<{ -readonly [name in keyof Entry]: Entry[name] }> = {
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
};

/** A `UInt64Value`. */
const HITS: Fields<CallDescriptor> = {
  1: number((descriptor, value) => {
    descriptor.hitsAddend = value;
  }),
};

const DESCRIPTOR: Fields<CallDescriptor> = {
  1: (reader, { entries }) => {
    if (entries.length === MOST_ENTRIES) {
      throw tooMany(`A descriptor has more than ${MOST_ENTRIES} entries.`);
    }
    const entry = { key: '', value: '' };
    reader.fieldsUntil(reader.endOfValue(), ENTRY, entry);
    entries.push(entry);
  },
  2: (reader, descriptor) => {
    const limit = { requestsPerUnit: 0, unit: 0 };
    reader.fieldsUntil(reader.endOfValue(), LIMIT, limit);
    descriptor.limit = limit;
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
  2: (reader, { descriptors }) => {
    if (descriptors.length === MOST_DESCRIPTORS) {
      throw tooMany(`The call has more than ${MOST_DESCRIPTORS} descriptors.`);
    }
    const descriptor = newDescriptor();
    reader.fieldsUntil(reader.endOfValue(), DESCRIPTOR, descriptor);
    descriptors.push(descriptor);
  },
  3: number((call, value) => {
    call.hitsAddend = value;
  }),
};

/** Throws MalformedMessage, or a RefusedCall for a call with more than Envoy sends. */
export function readCall(bytes: Buffer): RateLimitCall {
  const call: RateLimitCall = { domain: '', descriptors: [], hitsAddend: 0 };
  new ProtobufReader(bytes).fieldsUntil(bytes.length, CALL, call);
  return call;
}

function newDescriptor(): CallDescriptor {
  return { entries: [], limit: undefined, hitsAddend: undefined, isNegativeHits: false };
}

function tooMany(text: string): RefusedCall {
  return new RefusedCall('invalid_argument', text);
}
