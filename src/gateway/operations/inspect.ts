import { type LimitDescriptor, partitionOf } from '../core/counting/descriptor.ts';
import {
  fractionLeft,
  type QuotaReader,
  type QuotaState,
  StoreError,
} from '../core/counting/store.ts';
import type { StoredKey } from '../core/identity/key-directory.ts';
import { modeOf } from '../core/overrides.ts';
import type { Limit } from '../core/policy.ts';
import { isoTime } from '../denials/iso-time.ts';
import { clientNow, decisionIdIn } from './client-name.ts';
import { limitLabelled, quotaReport } from './current-limit.ts';
import { denialsOf, deniedBy } from './denials.ts';
import { accessOf, countedBy, type InspectedClient } from './inspected-client.ts';
import type { Input, Output } from './operation-table.ts';
import { listedFields, overrideReport } from './override-report.ts';
import type { Gateway } from './running-gateway.ts';
import { unavailableText } from './store-text.ts';
import { endedKey } from './stored-client.ts';
import { unsettledPolicies } from './unsettled.ts';

const MOST_LIMITS = 200;
const MOST_DENIALS = 20;
/** A policy file can have thousands of limits. */
const MOST_READ = 2_000;
/** Redis does nothing else while a script runs. */
const READ_AT_ONCE = 128;

/** Rejects with an OperationError if the client is unknown. */
export async function inspectClient(
  gateway: Gateway,
  { client: text }: Input<'inspect'>,
): Promise<Output<'inspect'>> {
  const client = await find(gateway, text);
  const { partition, partitions } = client;
  const { clients: denials, gateways } = await denialsOf(gateway, partitions);
  const descriptors = [
    ...countedBy(client, gateway),
    ...limitsThatDenied(denials, client, gateway),
  ];
  const { limits, unavailable } = await limitsOf(descriptors.slice(0, MOST_READ), gateway);
  const ended = await endedKey(text, partition, gateway);
  // Its requests are counted for their address.
  const counted = ended?.partition === partition ? [] : limits;
  const unsettled = await unsettledPolicies(gateway);
  const { access, listed, isAddressUnknown } = accessOf(client, gateway);
  // The denials of an address show whether the file names it; its pseudonym does not.
  const own = isAddressUnknown ? denials.filter((each) => each.client === partition) : [];
  const blocking = own.find((each) => each.listed !== undefined)?.listed;
  const blocks = access === undefined && blocking?.applies === true;
  const { sinceMs } = gateway.status.policyFile.history;
  const isNotListed = own.some(
    ({ reason, last }) => reason === 'over_limit' && Date.parse(last) >= sinceMs,
  );
  return {
    client: partition,
    ...listedFields(partition, gateway.policies.current.listedClients),
    ...keyFields(partition, gateway, ended),
    ...(ended === undefined &&
      isPlanOfProxy(partition, gateway) && { is_plan_unseen: true as const }),
    ...(blocks && { access: 'blocked' as const }),
    ...(access && { access: access.access }),
    listed: [...listed, ...(blocking ? [blocking] : [])],
    ...(isAddressUnknown && !blocking && !isNotListed && { is_address_unknown: true as const }),
    ...(unavailable !== undefined && { limits_unavailable: unavailable }),
    limits: counted.slice(0, MOST_LIMITS).map(({ limit, state }) => ({
      policy: limit.policy.name,
      mode: modeOf(limit.policy, gateway.overrides.current.modes),
      limit: limit.label,
      ...quotaReport(limit, state),
      ...(limit.afterwards &&
        unsettled.includes(limit.policy.name) && { is_unsettled: true as const }),
    })),
    overrides: gateway.overrides
      .list()
      .filter((each) => each.about === 'client' && partitions.includes(each.client))
      .map((each) => overrideReport(each, gateway.policies.current.listedClients)),
    denials: denials.slice(0, MOST_DENIALS),
    gateways,
  };
}

/** Whether the proxy may name a plan for each request of the client, which changes its limits. */
function isPlanOfProxy(partition: string, { policies }: Gateway): boolean {
  const { listedClients, naming, policies: all } = policies.current;
  const isKnown = /^[cu]\./.test(partition) && listedClients.get(partition)?.plan === undefined;
  return isKnown && naming.plan !== undefined && all.some(({ plans }) => plans.size > 0);
}

/** What lists its key, and the end of that key. `ended`: if none of its keys counts any more. */
function keyFields(partition: string, { policies, status }: Gateway, ended?: StoredKey) {
  const listed = policies.current.listedClients.get(partition);
  const stored = ended ?? listed?.stored;
  if (listed === undefined && stored === undefined) return {};
  const inStore = status.storeKind === 'redis' ? 'redis' : 'memory';
  return {
    key_source: stored === undefined ? ('file' as const) : inStore,
    ...(stored && Number.isFinite(stored.endsMs) && { key_ends: isoTime(stored.endsMs) }),
    ...(ended && { ended_key: ended.id }),
  };
}

async function find(gateway: Gateway, text: string): Promise<InspectedClient> {
  const id = decisionIdIn(text);
  if (id === undefined) {
    const named = await clientNow(text, gateway, 'show');
    return { ...named, partition: named.subject };
  }
  const denial = await deniedBy(gateway, id);
  if ('latest' in denial) return { partition: denial.client, partitions: [denial.client] };
  const { client, counted = client, names, networks, limit } = denial;
  return {
    partition: client,
    partitions: [...new Set([client, ...names, counted, ...networks])],
    denied: limit === undefined ? undefined : { label: limit, counted },
  };
}

/** Some of them count more than the name of the client shows, such as its requests with unlisted keys. */
function limitsThatDenied(
  denials: Output<'top'>['clients'],
  { partitions }: InspectedClient,
  { policies }: Gateway,
): LimitDescriptor[] {
  return denials.flatMap(({ limit, counted = '' }) =>
    limit !== undefined && partitions.includes(counted)
      ? limitLabelled(limit, counted, policies.current.policies)
      : [],
  );
}

interface ReadLimit {
  readonly limit: Limit;
  readonly state: QuotaState;
}

/** What is known without the store is worth an answer. */
async function limitsOf(descriptors: readonly LimitDescriptor[], gateway: Gateway) {
  try {
    return { limits: await readLimits(descriptors, gateway.reader) };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return { limits: [], unavailable: unavailableText(error, gateway) };
  }
}

/** The limits with the least left come first. */
async function readLimits(
  descriptors: readonly LimitDescriptor[],
  reader: QuotaReader,
): Promise<ReadLimit[]> {
  const found = new Map<string, ReadLimit>();
  for (let i = 0; i < descriptors.length; i += READ_AT_ONCE) {
    const batch = descriptors.slice(i, i + READ_AT_ONCE);
    const { states } = await reader.peek(batch);
    for (const [j, { source: limit, key }] of batch.entries()) {
      const state = states[j];
      if (state === undefined) continue;
      // For a while after midnight an address is counted under two pseudonyms.
      const name = `${limit.label} ${partitionOf(key).slice(0, 1)}`;
      const other = found.get(name);
      if (other === undefined || fractionLeft(state) < fractionLeft(other.state)) {
        found.set(name, { limit, state });
      }
    }
  }
  return [...found.values()].sort((a, b) => fractionLeft(a.state) - fractionLeft(b.state));
}
