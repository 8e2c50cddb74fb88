/** Finds what the name of a client shows: the limits that count it, and what exempts or blocks it. */
import {
  type CountedClient,
  describe,
  type LimitDescriptor,
  partitionOf,
} from '../core/counting/descriptor.ts';
import { NOT_LISTED } from '../core/identity/access-lists.ts';
import { storedKey } from '../core/identity/api-key.ts';
import { compileAccess } from '../core/identity/client-access.ts';
import {
  type AddressPartition,
  type ClaimedIdentity,
  GLOBAL_PARTITION,
  isAddress,
  listedKeyPartition,
} from '../core/identity/partition.ts';
import { modeOf } from '../core/overrides.ts';
import { everyLimit, type HeaderPartition, type Limit, type Policy } from '../core/policy.ts';
import type { AccessEvent } from '../core/trace.ts';
import { limitLabelled } from './current-limit.ts';
import { listedReports } from './listed-report.ts';
import type { Gateway } from './running-gateway.ts';

export interface InspectedClient {
  readonly partition: string;
  /** Every partition that may be counted for this client. */
  readonly partitions: readonly string[];
  readonly address?: AddressPartition;
  readonly text?: string;
  /** The limit that denied it, and the partition that the limit counted. */
  readonly denied?: { readonly label: string; readonly counted: string } | undefined;
}

type Counting = Pick<Gateway, 'policies' | 'overrides' | 'salts' | 'now'>;

export function countedBy(client: InspectedClient, gateway: Counting): LimitDescriptor[] {
  const { modes } = gateway.overrides.current;
  const policies = gateway.policies.current.policies.filter(
    (policy) => modeOf(policy, modes) !== 'off',
  );
  const nowMs = gateway.now();
  const context = { nowMs, salts: gateway.salts.at(nowMs, true) };
  // A global limit counts the requests of every client.
  const partitions = [...client.partitions, GLOBAL_PARTITION];
  const counted = describe(policies, asCounted(client, policies, gateway), context).filter(
    ({ key, source }) => partitions.includes(partitionOf(key)) && isKnownBy(client, source),
  );
  return [...deniedLimit(client, policies), ...counted];
}

/** Whether the client's name shows that the limit counts it. The pseudonym of an address does not show that for long limits. */
function isKnownBy({ partition, address, denied }: InspectedClient, { isLong, per, label }: Limit) {
  // The partition does not show its rule, but the denial does.
  if (per === 'descriptor') return label === denied?.label;
  return address !== undefined || !isAddress(partition) || !isLong;
}

/** The limit that denied a request may count something else than its client, such as a network. */
function deniedLimit(
  { partition, denied }: InspectedClient,
  policies: readonly Policy[],
): LimitDescriptor[] {
  if (denied === undefined || denied.counted === partition) return [];
  return limitLabelled(denied.label, denied.counted, policies);
}

const NOWHERE: AddressPartition = addressNamed('');

/** The client of a request that has what the partition stands for, and nothing else. */
function asCounted(
  { partition, address }: InspectedClient,
  policies: readonly Policy[],
  { policies: { current } }: Counting,
): CountedClient {
  const unknown: CountedClient = {
    kind: 'ip',
    address: NOWHERE,
    apiKey: undefined,
    user: undefined,
    plan: undefined,
    headers: new Map(),
  };
  switch (partition.slice(0, 2)) {
    case 'c.': {
      const { apiKeys } = current.naming;
      const listed =
        apiKeys.find(({ id }) => listedKeyPartition(id) === partition) ??
        current.listedClients.get(partition);
      const apiKey = { partition, unverified: false };
      return { ...unknown, kind: 'api_key', apiKey, plan: listed?.plan };
    }
    case 'k.':
      return { ...unknown, kind: 'api_key', apiKey: { partition, unverified: true } };
    case 'u.':
      return { ...unknown, kind: 'user', user: partition };
    case 'd.':
    case 'r.':
      return { ...unknown, descriptor: partition };
    case 'h.':
      return { ...unknown, headers: headersOf(policies, { partition, unverified: false }) };
    default:
      return { ...unknown, address: address ?? addressNamed(partition) };
  }
}

/** The partition of a header's value does not show which header it is, so each is tried. */
function headersOf(policies: readonly Policy[], claim: ClaimedIdentity) {
  const limits = policies.flatMap(everyLimit);
  const headers = limits.map(({ per }) => per).filter((per) => per.startsWith('header:'));
  return new Map(headers.map((header) => [header as HeaderPartition, claim]));
}

function addressNamed(pseudonym: string): AddressPartition {
  return { daily: { current: pseudonym, previous: undefined }, long: undefined, wider: [] };
}

/** Stands for an address that is not known. No list or proxy has it. */
const UNKNOWN = '0.0.0.0';

export function accessOf(
  { partition, partitions, address, text }: InspectedClient,
  { policies, overrides, now }: Gateway,
) {
  const { accessLists, trustedProxies } = policies.current.naming;
  const { listedClients } = policies.current;
  const nowMs = now();
  const { id, stored } = listedClients.get(partition) ?? {};
  const ofFile = id === undefined ? NOT_LISTED : accessLists.ofKey(id);
  const ofKey = stored === undefined ? ofFile : storedKey(stored, accessLists).listed;
  const isKey = /^[ck]\./.test(partition);
  const [own = '', ...others] = partitions.filter(isAddress);
  const wider = others.map(addressNamed);
  const events: AccessEvent[] = [];
  const access = compileAccess(trustedProxies)(
    {
      apiKey: isKey ? { partition, listed: ofKey } : undefined,
      user: partition.startsWith('u.') ? partition : undefined,
      address: {
        partition: address ?? { ...addressNamed(own), wider },
        listed: text === undefined ? NOT_LISTED : accessLists.ofAddress(text),
      },
      reported: text ?? UNKNOWN,
    },
    {
      nowMs,
      overrides: overrides.current,
      trace: (event) => void (event.type === 'access' && events.push(event)),
    },
  );
  const entries = [...accessLists.exempt, ...accessLists.block];
  return {
    access,
    listed: events.flatMap((event) => listedReports(event, nowMs)),
    /** The lists of the policy file may name the address, of which only the pseudonym is known. */
    isAddressUnknown:
      isAddress(partition) &&
      text === undefined &&
      entries.some((entry) => entry.address !== undefined),
  };
}
