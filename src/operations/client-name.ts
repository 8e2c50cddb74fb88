/** The ways in which operators name a client, and what it is counted and known by. */
import { hash } from 'node:crypto';
import { hint } from '../config/closest-word.ts';
import { canonicalAddress, countedAddress, isIPv6Text, isLoopback } from '../core/address.ts';
import {
  addressPartition,
  GLOBAL_PARTITION,
  isAddress,
  isOfMany,
  listedKeyPartition,
  pseudonymsOf,
  unlistedKeyPartition,
  userPartition,
} from '../core/partition.ts';
import type { Naming } from '../core/policy-set.ts';
import { DAY_MS, periodStart, type Salts } from '../core/salts.ts';
import { isoTime } from '../denials/iso-time.ts';
import { OperationError } from './operation-error.ts';

/** A client as it is known now. */
export interface KnownClient {
  /** Everything that it is counted under, its wider IPv6 networks included. */
  readonly partitions: readonly string[];
  /** What alone stands for it. */
  readonly own: readonly string[];
  /** Whether it is the address of a trusted proxy, which may stand for anybody. */
  readonly isProxy: boolean;
  /** The name under which an override of it holds for so long. Throws an OperationError if there is none. */
  overrideName(untilMs: number): OverrideName;
}

export interface OverrideName {
  readonly client: string;
  /** Whether it is under the salt that changes every 31 days. */
  readonly isLong: boolean;
}

const FORMS =
  'name an address (203.0.113.9), an IPv6 network that is counted (2001:db8::/64), a client of the log (k.Yx3...), id:ID of a listed key, key:KEY, user:USER, or the id of a decision';

const PARTITION = /^(?:[chiku]\.[\w-]{22}|g)$/;
const DECISION_ID = /^[0-9a-f]{12}-\d+$/;

/** The id of the decision that names a client, or undefined. */
export function decisionIdIn(text: string): string | undefined {
  return DECISION_ID.test(text) ? text : undefined;
}

/** Throws an OperationError that says what can be named. */
export function clientNamed(text: string, naming: Naming, salts: Salts): KnownClient {
  if (PARTITION.test(text)) return ofPartition(text, salts);
  const [, form, value] = /^(id|key|user):(.+)$/s.exec(text) ?? [];
  if (form !== undefined && value !== undefined) return fixed(partitionOf(form, value, naming));
  const [, network = '', bits] = /^([^/]*)(?:\/(\d+))?$/.exec(text) ?? [];
  const address = canonicalAddress(network);
  // Not repeated: somebody may have typed a key.
  if (address === undefined) throw new OperationError('invalid', `this names no client: ${FORMS}`);
  return ofAddress(countedAddress(address), bits, naming, salts);
}

function partitionOf(form: string, value: string, { apiKeys, sources }: Naming): string {
  const source = form === 'user' ? 'user' : 'api_key';
  if (!sources.includes(source)) {
    throw new OperationError(
      'invalid',
      `identity.sources of the policy file has no ${source}, so nobody is known by one`,
    );
  }
  if (form === 'user') return userPartition(value);
  if (form === 'id') {
    const ids = apiKeys.map(({ id }) => id);
    if (ids.includes(value)) return listedKeyPartition(value);
    // Not repeated, either.
    throw new OperationError(
      'not_found',
      `no key of the policy file has this id${hint(value, ids)}`,
    );
  }
  const sha256 = hash('sha256', value, 'hex');
  const listed = apiKeys.find((key) => key.sha256 === sha256);
  if (listed !== undefined) return listedKeyPartition(listed.id);
  return unlistedKeyPartition(Buffer.from(sha256, 'hex').toString('base64url'));
}

/** Keys and users go by the same name for ever. */
function fixed(partition: string): KnownClient {
  return {
    partitions: [partition],
    own: [partition],
    isProxy: false,
    overrideName: () => ({ client: partition, isLong: false }),
  };
}

function ofPartition(partition: string, { daily }: Salts): KnownClient {
  // It may be the name of today or of yesterday: that one means nothing from midnight on.
  if (isAddress(partition)) return namedUntil(partition, daily.startMs + DAY_MS);
  if (!isOfMany(partition)) return fixed(partition);
  return {
    ...fixed(partition),
    overrideName() {
      const what = partition === GLOBAL_PARTITION ? 'everybody' : 'the value of a header';
      throw new OperationError(
        'invalid',
        `${partition} is ${what}, whose counts can be reset; it cannot be blocked or exempt`,
      );
    },
  };
}

/** A client by the name that its address has on a day: it is looked for until the end of the next day. */
export function ofDay(partition: string, deniedMs: number): KnownClient {
  if (!isAddress(partition)) return fixed(partition);
  return namedUntil(partition, periodStart(deniedMs, DAY_MS) + 2 * DAY_MS);
}

function namedUntil(partition: string, endMs: number): KnownClient {
  return {
    ...fixed(partition),
    overrideName(untilMs) {
      if (untilMs <= endMs) return { client: partition, isLong: false };
      throw new OperationError(
        'invalid',
        `${partition} is the name of an address, and may mean nothing after ${isoTime(endMs)}: for longer, name the address itself`,
      );
    },
  };
}

function ofAddress(
  address: string,
  bits: string | undefined,
  { ipv6Prefixes, trustedProxies }: Naming,
  salts: Salts,
): KnownClient {
  const isCounted = isIPv6Text(address) && ipv6Prefixes.map(String).includes(bits ?? '');
  if (bits !== undefined && !isCounted) {
    const counted = ipv6Prefixes.map((prefix) => `/${prefix}`).join(', ');
    throw new OperationError(
      'invalid',
      `a range can be blocked or exempt in the policy file, which is read again when it changes; here, IPv6 networks of ${counted} can`,
    );
  }
  const prefixes = bits === undefined ? ipv6Prefixes : [Number(bits)];
  const known = addressPartition(address, prefixes, salts);
  const { daily, long } = known;
  return {
    partitions: pseudonymsOf(known),
    own: pseudonymsOf({ ...known, wider: [] }),
    isProxy: trustedProxies(address) && !isLoopback(address),
    overrideName(untilMs) {
      if (long === undefined || untilMs <= salts.daily.startMs + 2 * DAY_MS) {
        return { client: daily.current, isLong: false };
      }
      return { client: long.current, isLong: true };
    },
  };
}
