/** Reads the name of a client, as operators write it, and finds the partitions that stand for that client. */
import { hash } from 'node:crypto';
import { hint } from '../config/closest-word.ts';
import { canonicalAddress, countedAddress, isIPv6Text } from '../core/identity/address.ts';
import {
  type AddressPartition,
  addressPartition,
  GLOBAL_PARTITION,
  isAddress,
  isOfMany,
  isPseudonym,
  listedKeyPartition,
  pseudonymsOf,
  unlistedKeyPartition,
  userPartition,
} from '../core/identity/partition.ts';
import { DAY_MS, periodStart, type Salts } from '../core/identity/salts.ts';
import type { Naming } from '../core/matching/policy-set.ts';
import { isoTime } from '../denials/iso-time.ts';
import { OperationError } from './operation-error.ts';
import type { Gateway } from './running-gateway.ts';
import { storedPartition } from './stored-client.ts';

export interface KnownClient {
  /** The name that answers and the audit log use. */
  readonly subject: string;
  /** Every partition that the client is counted under, including its wider IPv6 networks. */
  readonly partitions: readonly string[];
  /** The partitions that stand for this client alone. */
  readonly own: readonly string[];
  /** The canonical spelling of the one address that named the client. */
  readonly text?: string;
  readonly address?: AddressPartition;
  /** The address that sent the key or the user, if a decision found it. */
  readonly behind?: string | undefined;
  /** Many clients share the address of a trusted proxy. */
  readonly isProxy: boolean;
  /** The name of an override that lasts until then. Throws an OperationError if there is none. */
  overrideName(untilMs: number): OverrideName;
}

interface OverrideName {
  readonly client: string;
  /** It is a pseudonym under the salt that changes every 31 days. */
  readonly isLong: boolean;
}

const FORMS =
  'write an address (203.0.113.9), an IPv6 network that the policy file counts (2001:db8::/64), a client of the log (k.Yx3...), id:ID of a listed key, key:KEY, user:USER, or a decision id';

export const PARTITION = /^(?:[cdhikru]\.[\w-]{22}|g)$/;
/** Customers send it alone, or in the body or the headers of a 429. */
const DECISION_ID = /(?:^["'\s]*|decision[_-]id["'\s:=]+)([0-9a-f]{12}-\d+)(?![\w-])/i;

export function decisionIdIn(text: string): string | undefined {
  return DECISION_ID.exec(text)?.[1]?.toLowerCase();
}

/** Throws an OperationError for a text that names no client. Never repeats the text, which may be a key. */
export function clientNamed(text: string, naming: Naming, salts: Salts): KnownClient {
  if (PARTITION.test(text)) return byPartition(text, salts);
  const [, form, value] = /^(id|key|user):(.+)$/s.exec(text) ?? [];
  if (form !== undefined && value !== undefined) {
    return withOneName(partitionOf([form, value], naming, salts));
  }
  const [, network = '', bits] = /^([^/]*)(?:\/(\d+))?$/.exec(text) ?? [];
  const address = canonicalAddress(network);
  if (address === undefined) throw new OperationError('invalid', `unknown client: ${FORMS}`);
  const known = byAddress([countedAddress(address), bits], naming, salts);
  return bits === undefined ? { ...known, text: address } : known;
}

function partitionOf(
  [form, value]: readonly [form: string, value: string],
  { apiKeys, sources, keysInStore }: Naming,
  { kept }: Salts,
): string {
  const source = form === 'user' ? 'user' : 'api_key';
  if (!sources.includes(source)) {
    throw new OperationError(
      'not_possible',
      `identity.sources in the policy file does not have ${source}, so headgate identifies no client by it`,
    );
  }
  if (form === 'user') return userPartition(value, kept);
  if (form === 'id') {
    const ids = apiKeys.map(({ id }) => id);
    if (ids.includes(value)) return listedKeyPartition(value);
    throw new OperationError(
      'not_found',
      `no key in the policy file${keysInStore ? ' or in the store' : ''} has this id${hint(value, ids)}`,
    );
  }
  const sha256 = hash('sha256', value, 'hex');
  const listed = apiKeys.find((key) => key.sha256 === sha256);
  if (listed !== undefined) return listedKeyPartition(listed.id);
  return unlistedKeyPartition(Buffer.from(sha256, 'hex').toString('base64url'));
}

function withOneName(partition: string): KnownClient {
  return {
    subject: partition,
    partitions: [partition],
    own: [partition],
    isProxy: false,
    overrideName: () => ({ client: partition, isLong: false }),
  };
}

function byPartition(partition: string, { daily }: Salts): KnownClient {
  // A pseudonym may be yesterday's, which is of no use after midnight.
  if (isPseudonym(partition)) return namedUntil(partition, daily.startMs + DAY_MS);
  if (!isOfMany(partition)) return withOneName(partition);
  return {
    ...withOneName(partition),
    overrideName() {
      const meaning = partition === GLOBAL_PARTITION ? 'all clients' : 'the value of a header';
      throw new OperationError(
        'not_possible',
        `${partition} stands for ${meaning}: its counters can be reset, but it cannot be blocked or exempt`,
      );
    },
  };
}

/** The client of a denial. A pseudonym is used until the end of the day after the denial. */
export function ofDay(partition: string, deniedMs: number): KnownClient {
  if (!isPseudonym(partition)) return withOneName(partition);
  return namedUntil(partition, periodStart(deniedMs, DAY_MS) + 2 * DAY_MS);
}

function namedUntil(partition: string, endMs: number): KnownClient {
  return {
    ...withOneName(partition),
    overrideName(untilMs) {
      if (untilMs <= endMs) return { client: partition, isLong: false };
      throw new OperationError(
        'not_possible',
        isAddress(partition)
          ? `${partition} is the pseudonym of an address and expires at ${isoTime(endMs)}: for a longer override, name the address itself`
          : `${partition} is the pseudonym of a descriptor and expires at ${isoTime(endMs)}: choose an earlier end`,
      );
    },
  };
}

type Known = Pick<Gateway, 'policies' | 'salts' | 'now' | 'keys'>;

/** `use`: what the client is named for, if that needs one client. Rejects with an OperationError as `clientNamed` throws. */
export async function clientNow(
  text: string,
  gateway: Known,
  use?: 'reset' | 'show',
): Promise<KnownClient> {
  const { policies, salts, now } = gateway;
  const { naming } = policies.current;
  if (use !== undefined) refuseRange(text, naming, use);
  const stored = await storedPartition(text, gateway);
  return stored === undefined
    ? clientNamed(text, naming, salts.at(now(), true))
    : withOneName(stored);
}

/** A range is not one client; an IPv6 network that the policy file counts is one. */
function refuseRange(text: string, { ipv6Prefixes }: Naming, use: 'reset' | 'show'): void {
  const [, address = '', bits] = /^([\d.:a-f]+)\/(\d+)$/i.exec(text) ?? [];
  if (bits === undefined || isCounted(address, bits, ipv6Prefixes)) return;
  throw new OperationError(
    'not_possible',
    `a range is not one client: ${use} one address of it, or an IPv6 network of ${lengthsOf(ipv6Prefixes)}`,
  );
}

function isCounted(address: string, bits: string, ipv6Prefixes: readonly number[]): boolean {
  return isIPv6Text(address) && ipv6Prefixes.map(String).includes(bits);
}

function lengthsOf(ipv6Prefixes: readonly number[]): string {
  return ipv6Prefixes.map((prefix) => `/${prefix}`).join(', ');
}

function byAddress(
  [address, bits]: readonly [address: string, bits: string | undefined],
  { ipv6Prefixes, trustedProxies }: Naming,
  salts: Salts,
): KnownClient {
  if (bits !== undefined && !isCounted(address, bits, ipv6Prefixes)) {
    throw new OperationError(
      'not_possible',
      `a range can be blocked or exempt only in the policy file, which gateways reload when it changes; an override can name IPv6 networks of ${lengthsOf(ipv6Prefixes)}`,
    );
  }
  const prefixes = bits === undefined ? ipv6Prefixes : [Number(bits)];
  const known = addressPartition(address, prefixes, salts);
  const { daily, long } = known;
  const partitions = pseudonymsOf(known);
  return {
    subject: daily.current,
    partitions,
    own: pseudonymsOf({ ...known, wider: [] }),
    address: addressPartition(address, ipv6Prefixes, salts),
    isProxy: trustedProxies(address),
    overrideName(untilMs) {
      if (long === undefined || untilMs <= salts.daily.startMs + 2 * DAY_MS) {
        return { client: daily.current, isLong: false };
      }
      return { client: long.current, isLong: true };
    },
  };
}
