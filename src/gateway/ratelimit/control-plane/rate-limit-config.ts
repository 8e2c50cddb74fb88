/**
 * The message `RateLimitConfig`. The field numbers are those of ratelimit/config/ratelimit/v3/rls_conf.proto of
 * go-control-plane 2b88c16 (2026-08). It has no `value_to_metric` and no `share_threshold`: only files have these.
 */
import { type Fields, MalformedMessage, number, ProtobufReader } from '../../protobuf/reader.ts';
import { readStruct, type Struct } from './struct.ts';

/** Numbers are 0, texts are empty and flags are false where the message has no such field. */
export interface RateLimitConfig {
  name: string;
  domain: string;
  readonly descriptors: RateLimitDescriptor[];
}

export interface RateLimitDescriptor {
  key: string;
  value: string;
  policy: RateLimitPolicy | undefined;
  shadowMode: boolean;
  detailedMetric: boolean;
  quotaMode: boolean;
  metadata: Struct | undefined;
  readonly descriptors: RateLimitDescriptor[];
}

export interface RateLimitPolicy {
  /** See `UNIT_NAMES`. */
  unit: number;
  requestsPerUnit: number;
  unlimited: boolean;
  name: string;
  /** Names of policies. */
  readonly replaces: string[];
}

/** By number. 0 is UNKNOWN. */
export const UNIT_NAMES: readonly (string | undefined)[] = [
  undefined,
  ...['second', 'minute', 'hour', 'day', 'month', 'year', 'week'],
];

/** Control planes nest as many as a route has conditions. The stack has space for many more. */
const DEEPEST = 64;
/** In one message, with the values of metadata, so that a small message of empty descriptors does not fill the memory. */
const MOST = 250_000;

/** Where descriptors are read into. */
interface Level {
  readonly descriptors: RateLimitDescriptor[];
  readonly depth: number;
  readonly budget: { left: number };
}

interface Place {
  readonly descriptor: RateLimitDescriptor;
  readonly level: Level;
}

const REPLACE: Fields<string[]> = {
  1: (reader, replaces) => {
    replaces[replaces.length - 1] = reader.utf8();
  },
};

const POLICY: Fields<RateLimitPolicy> = {
  1: number((policy, value) => {
    policy.unit = value;
  }),
  2: number((policy, value) => {
    policy.requestsPerUnit = value;
  }),
  3: number((policy, value) => {
    policy.unlimited = value !== 0;
  }),
  4: (reader, policy) => {
    policy.name = reader.utf8();
  },
  5: (reader, { replaces }) => {
    replaces.push('');
    reader.fieldsUntil(reader.endOfValue(), REPLACE, replaces);
  },
};

const DESCRIPTOR: Fields<Place> = {
  1: (reader, { descriptor }) => {
    descriptor.key = reader.utf8();
  },
  2: (reader, { descriptor }) => {
    descriptor.value = reader.utf8();
  },
  3: (reader, { descriptor }) => {
    descriptor.policy ??= noPolicy();
    reader.fieldsUntil(reader.endOfValue(), POLICY, descriptor.policy);
  },
  4: (reader, { descriptor, level }) => {
    readDescriptor(reader, { ...level, descriptors: descriptor.descriptors });
  },
  5: number(({ descriptor }, value) => {
    descriptor.shadowMode = value !== 0;
  }),
  6: number(({ descriptor }, value) => {
    descriptor.detailedMetric = value !== 0;
  }),
  7: number(({ descriptor }, value) => {
    descriptor.quotaMode = value !== 0;
  }),
  8: (reader, { descriptor, level }) => {
    descriptor.metadata = readStruct(reader, level.budget);
  },
};

function noPolicy(): RateLimitPolicy {
  return { unit: 0, requestsPerUnit: 0, unlimited: false, name: '', replaces: [] };
}

function readDescriptor(reader: ProtobufReader, { descriptors, depth, budget }: Level): void {
  if (depth === DEEPEST) {
    throw new MalformedMessage(`its descriptors are nested more than ${DEEPEST} levels deep`);
  }
  if (budget.left-- === 0) throw new MalformedMessage(`it has more than ${MOST} descriptors`);
  const descriptor: RateLimitDescriptor = {
    ...{ key: '', value: '', policy: undefined },
    ...{ shadowMode: false, detailedMetric: false, quotaMode: false, metadata: undefined },
    descriptors: [],
  };
  descriptors.push(descriptor);
  const level = { descriptors, depth: depth + 1, budget };
  reader.fieldsUntil(reader.endOfValue(), DESCRIPTOR, { descriptor, level });
}

const CONFIG: Fields<{ readonly config: RateLimitConfig; readonly level: Level }> = {
  1: (reader, { config }) => {
    config.name = reader.utf8();
  },
  2: (reader, { config }) => {
    config.domain = reader.utf8();
  },
  3: (reader, { level }) => readDescriptor(reader, level),
};

/** Throws MalformedMessage. */
export function readRateLimitConfig(bytes: Buffer): RateLimitConfig {
  const config: RateLimitConfig = { name: '', domain: '', descriptors: [] };
  const level = { descriptors: config.descriptors, depth: 0, budget: { left: MOST } };
  new ProtobufReader(bytes).fieldsUntil(bytes.length, CONFIG, { config, level });
  return config;
}
