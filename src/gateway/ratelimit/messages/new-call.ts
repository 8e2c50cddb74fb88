/** Builds a call while its message is read. A call with more than Envoy sends is refused before the rest is read. */
import { type CallDescriptor, type RateLimitCall, RefusedCall } from '../call.ts';
import type { Entry } from '../rules/rule.ts';

/** Of a call, and of a descriptor. Envoy sends one for each of its actions; each costs a keyed digest. */
const MOST_DESCRIPTORS = 128;
const MOST_ENTRIES = 128;

type NewEntry = { -readonly [name in keyof Entry]: Entry[name] };

export function newCall(): RateLimitCall {
  return { domain: '', descriptors: [], hitsAddend: 0 };
}

/** Throws a RefusedCall. */
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
