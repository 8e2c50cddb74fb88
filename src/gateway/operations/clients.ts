import { keysOf } from '../core/counting/descriptor.ts';
import { StoreError } from '../core/counting/store.ts';
import type { Access } from '../core/identity/access-lists.ts';
import {
  addressPartition,
  isAddress,
  isKeyOrUser,
  isOfMany,
  pseudonymsOf,
} from '../core/identity/partition.ts';
import { clientSubject, type Override } from '../stores/overrides/override.ts';
import { audited, putInForce, termsOf } from './changes.ts';
import { clientNow, decisionIdIn, type KnownClient, ofDay } from './client-name.ts';
import { deniedBy, noLongerKept } from './denials.ts';
import { unblockCommand } from './listed-report.ts';
import { OperationError } from './operation-error.ts';
import type { Input, Output } from './operation-table.ts';
import { clientOverride, listedFields, overridesOf } from './override-report.ts';
import { requirePolicy } from './policies.ts';
import type { Gateway } from './running-gateway.ts';
import { storeErrorText } from './store-text.ts';
import { isKeyBlocked } from './stored-client.ts';
import { inForceText } from './texts.ts';

export async function resetClient(
  gateway: Gateway,
  { client, policy, reason, by = 'unknown' }: Input<'reset'>,
): Promise<Output<'reset'>> {
  if (policy !== undefined) requirePolicy(gateway, policy);
  const affected = gateway.policies.current.policies.filter(
    ({ name }) => policy === undefined || name === policy,
  );
  const { subject, partitions, behind } = await findClient(gateway, client);
  const keys = partitions.flatMap((partition) => keysOf(partition, affected));
  const settled = partitions.flatMap((partition) =>
    keysOf(partition, affected, ({ afterwards }) => afterwards !== undefined),
  );
  const also = behind === undefined ? '' : `, also of its address ${behind}`;
  const change = `reset ${policy ?? 'all policies'}${also}`;
  await audited(gateway, { action: 'reset', subject, change, reason, by }, async () => {
    await gateway.store.reset(keys, settled);
    // Other gateways receive the reset from the store.
    gateway.forgetDenied(keys);
  });
  return {
    ...namedClient(gateway, subject),
    policies: [...new Set(affected.map(({ name }) => name))],
    ...(behind !== undefined && { address: behind }),
  };
}

export async function setAccess(
  gateway: Gateway,
  access: Access,
  { client, ...written }: Input<'block'>,
): Promise<Output<'block'>> {
  const terms = termsOf(written, gateway.now());
  const known = await findClient(gateway, client, access);
  const { own, overrideName, isProxy } = known;
  const name = overrideName(terms.untilMs);
  if (access === 'exempt' && (isProxy || isOfLocalProxy(gateway, name.client))) {
    throw new OperationError(
      'not_possible',
      'this is the address of a trusted proxy (identity.trusted_proxies), which is never exempt because many clients share it: exempt an API key or a user',
    );
  }
  const override: Override = { about: 'client', ...name, access, ...terms };
  const action = access === 'blocked' ? 'block' : 'exempt';
  const { listedClients } = gateway.policies.current;
  // An address has one override, whichever of its pseudonyms it names.
  const replaced = overridesOf([...own, name.client], gateway.overrides);
  const others = replaced.filter((each) => each.client !== name.client);
  const followUp = async () => {
    for (const other of others)
      await gateway.overrides.remove(clientSubject(other.client), terms.by);
  };
  const instead = replaced.map((each) => `${each.client}: ${each.access}`).join(', ');
  const change = instead === '' ? access : `${access}, in place of ${instead}`;
  await putInForce(gateway, override, { action, subject: name.client, change, followUp });
  return {
    ...clientOverride(override, listedClients),
    ...(replaced.length > 0 && {
      replaced: replaced.map((each) => clientOverride(each, listedClients)),
    }),
    ...otherOverrides(gateway, known),
  };
}

/** Only pseudonyms of proxies on this machine can be recognized without a search. */
function isOfLocalProxy({ policies, salts, now }: Gateway, partition: string): boolean {
  const { trustedProxies, ipv6Prefixes } = policies.current.naming;
  return ['127.0.0.1', '::1'].filter(trustedProxies).some((address) => {
    const known = addressPartition(address, ipv6Prefixes, salts.at(now(), true));
    return pseudonymsOf(known).includes(partition);
  });
}

const NOT_IN_FORCE = {
  blocked:
    'no operator blocked this client; if it is over a limit, reset its counters (headgate clients reset)',
  exempt: 'no operator exempted this client',
} as const;

export async function removeAccess(
  gateway: Gateway,
  access: Access,
  { client, reason, by = 'unknown' }: Input<'unblock'>,
): Promise<Output<'unblock'>> {
  const known = await findClient(gateway, client, access);
  // Another gateway may have made the override a moment ago.
  await refreshed(gateway);
  const isLifted = (each: Override) => each.about === 'client' && each.access === access;
  const [first, ...more] = overridesOf(known.own, gateway.overrides).filter(isLifted);
  if (first === undefined) throw await notInForce(gateway, access, known);
  const action = access === 'blocked' ? 'unblock' : 'unexempt';
  const change = `no longer ${access}`;
  for (const { client: subject } of [first, ...more]) {
    await audited(gateway, { action, subject, change, reason, by }, () =>
      gateway.overrides.remove(clientSubject(subject), by),
    );
  }
  return { ...namedClient(gateway, first.client), ...otherOverrides(gateway, known) };
}

async function refreshed({ overrides }: Gateway): Promise<void> {
  try {
    await overrides.refresh();
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause;
    const message = `${storeErrorText(cause)}: nothing was changed`;
    throw new OperationError('store_unavailable', message, { cause });
  }
}

async function notInForce(
  gateway: Gateway,
  access: Access,
  known: KnownClient,
): Promise<OperationError> {
  const { other_overrides: others = [] } = otherOverrides(gateway, known);
  const same = others.find((each) => each.access === access);
  const { id, stored } = gateway.policies.current.listedClients.get(known.subject) ?? {};
  if (access === 'blocked' && stored && id !== undefined && (await isKeyBlocked(gateway, id))) {
    return new OperationError(
      'not_found',
      `no override blocks this client, but its key is blocked (headgate keys): ${unblockCommand(id)}`,
    );
  }
  if (same === undefined) return new OperationError('not_found', NOT_IN_FORCE[access]);
  const command = access === 'blocked' ? 'unblock' : 'unexempt';
  return new OperationError(
    'not_found',
    `no operator ${access === 'blocked' ? 'blocked' : 'exempted'} this client itself, but an override applies to all clients behind ${inForceText(same, gateway.now())}; to end it for all of them: headgate clients ${command} ${same.client}`,
  );
}

/** Overrides of an address apply to all clients behind it, so a change of one client leaves them in force. */
function otherOverrides({ overrides, policies }: Gateway, { own, partitions }: KnownClient) {
  const names = partitions.filter((name) => !own.includes(name));
  const found = overridesOf(names, overrides);
  return {
    ...(found.length > 0 && {
      other_overrides: found.map((each) => clientOverride(each, policies.current.listedClients)),
    }),
  };
}

function namedClient({ policies }: Gateway, client: string) {
  return { client, ...listedFields(client, policies.current.listedClients) };
}

/** `access`: what is changed of it; a reset changes none. */
async function findClient(gateway: Gateway, text: string, access?: Access): Promise<KnownClient> {
  const id = decisionIdIn(text);
  if (id === undefined) return clientNow(text, gateway, access === undefined ? 'reset' : undefined);
  const denial = await deniedBy(gateway, id);
  if ('latest' in denial) {
    // Its key or user, which an exemption is for, is no longer known.
    if (access === 'exempt') throw noLongerKept(id, denial);
    return ofDay(denial.client, Date.parse(denial.last));
  }
  const { client, counted = client, names, networks, last } = denial;
  // An exemption is for the key or the user whose quota is used up. The client may be someone else who sent that key.
  const exempt = isKeyOrUser(counted) ? counted : client;
  const subject = access === 'exempt' ? exempt : client;
  // The address of a key or a user is also that of other clients.
  const own = isAddress(subject) && names.includes(subject) ? names.filter(isAddress) : [];
  // Counters that other clients share stay.
  const shares = [client, ...names, counted, ...networks].filter((name) => !isOfMany(name));
  return {
    ...ofDay(subject, Date.parse(last)),
    own: [...new Set([subject, ...own])],
    partitions: [...new Set(shares)],
    behind: isAddress(client) ? undefined : names.find(isAddress),
  };
}
