/** Resets, blocks and exempts clients. */
import type { Access } from '../core/access-lists.ts';
import { keysOf } from '../core/descriptor.ts';
import {
  addressPartition,
  isAddress,
  isKeyOrUser,
  isOfMany,
  pseudonymsOf,
} from '../core/partition.ts';
import { audited, putInForce } from './audit.ts';
import { clientNamed, decisionIdIn, type KnownClient, ofDay } from './client-name.ts';
import { deniedBy, noLongerKept } from './denials.ts';
import { listedFields } from './listed-fields.ts';
import type { InputOf, OutputOf } from './operation.ts';
import { OperationError } from './operation-error.ts';
import { clientSubject, type Override } from './override.ts';
import { requirePolicy } from './policies.ts';
import type { Gateway } from './running-gateway.ts';
import type { BLOCK, RESET, UNBLOCK } from './schemas/clients.ts';
import type { OverrideReport } from './schemas/overrides.ts';
import { termsOf } from './terms.ts';

type Reset = InputOf<typeof RESET>;
type AccessChange = InputOf<typeof BLOCK>;
type Lift = InputOf<typeof UNBLOCK>;

export async function resetClient(
  gateway: Gateway,
  { client, policy, reason, by = 'unknown' }: Reset,
): Promise<OutputOf<typeof RESET>> {
  if (policy !== undefined) requirePolicy(gateway, policy);
  const affected = gateway.policies.current.policies.filter(
    ({ name }) => policy === undefined || name === policy,
  );
  const { subject, partitions, behind } = await findClient(gateway, client);
  const keys = partitions.flatMap((partition) => keysOf(partition, affected));
  const also = behind === undefined ? '' : `, also of its address ${behind}`;
  const change = `reset ${policy ?? 'all policies'}${also}`;
  await audited(gateway, { action: 'reset', subject, change, reason, by }, async () => {
    await gateway.store.reset(keys);
    // Other gateways receive the reset from the store.
    gateway.forgetDenied(keys);
  });
  return {
    ...namedClient(gateway, subject),
    policies: [...new Set(affected.map(({ name }) => name))],
    ...(behind !== undefined && { address: behind }),
  };
}

export function blockClient(gateway: Gateway, change: AccessChange): Promise<OverrideReport> {
  return setAccess(gateway, 'blocked', change);
}

export function exemptClient(gateway: Gateway, change: AccessChange): Promise<OverrideReport> {
  return setAccess(gateway, 'exempt', change);
}

export function unblockClient(gateway: Gateway, lift: Lift): Promise<OutputOf<typeof UNBLOCK>> {
  return removeAccess(gateway, 'blocked', lift);
}

export function unexemptClient(gateway: Gateway, lift: Lift): Promise<OutputOf<typeof UNBLOCK>> {
  return removeAccess(gateway, 'exempt', lift);
}

async function setAccess(
  gateway: Gateway,
  access: Access,
  { client, ...written }: AccessChange,
): Promise<OverrideReport> {
  const terms = termsOf(written, gateway.now());
  const { own, overrideName, isProxy } = await findClient(gateway, client, access);
  const name = overrideName(terms.untilMs);
  if (access === 'exempt' && (isProxy || isOfLocalProxy(gateway, name.client))) {
    throw new OperationError(
      'not_possible',
      'this is the address of a trusted proxy (identity.trusted_proxies), which is never exempt because many clients share it: exempt an API key or a user',
    );
  }
  const override: Override = { about: 'client', ...name, access, ...terms };
  const action = access === 'blocked' ? 'block' : 'exempt';
  // A client has one override, whichever of its names the operator used.
  const followUp = async () => {
    for (const other of own) {
      if (other !== name.client && accessOverride(gateway, other)) {
        await gateway.overrides.remove(clientSubject(other), terms.by);
      }
    }
  };
  const change = { action, subject: name.client, change: access, followUp };
  return putInForce(gateway, override, change);
}

/** Of the pseudonyms of proxies, those on this machine are known without a search. */
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

async function removeAccess(
  gateway: Gateway,
  access: Access,
  { client, reason, by = 'unknown' }: Lift,
) {
  const { own } = await findClient(gateway, client, access);
  // Another gateway may have made the override a moment ago.
  await gateway.overrides.refresh();
  const lifted = own.filter((name) => accessOverride(gateway, name)?.access === access);
  const [subject] = lifted;
  if (subject === undefined) {
    throw new OperationError('not_found', NOT_IN_FORCE[access]);
  }
  const action = access === 'blocked' ? 'unblock' : 'unexempt';
  await audited(
    gateway,
    { action, subject, change: `no longer ${access}`, reason, by },
    async () => {
      for (const name of lifted) await gateway.overrides.remove(clientSubject(name), by);
    },
  );
  return namedClient(gateway, subject);
}

function accessOverride({ overrides }: Gateway, client: string) {
  return overrides
    .list()
    .filter((each) => each.about === 'client')
    .find((each) => each.client === client);
}

function namedClient({ policies }: Gateway, client: string): OutputOf<typeof UNBLOCK> {
  return { client, ...listedFields(client, policies.current.listedClients) };
}

/** `access`: what is changed of it; a reset changes none. */
async function findClient(gateway: Gateway, text: string, access?: Access): Promise<KnownClient> {
  const id = decisionIdIn(text);
  if (id === undefined) {
    const salts = gateway.salts.at(gateway.now(), true);
    return clientNamed(text, gateway.policies.current.naming, salts);
  }
  const denial = await deniedBy(gateway, id);
  if ('latest' in denial) {
    // Its key or user, which an exemption is for, is no longer known.
    if (access === 'exempt') throw noLongerKept(id, denial);
    return ofDay(denial.client, Date.parse(denial.last));
  }
  const { client, counted = client, names, networks, last } = denial;
  const own = [client, ...names];
  // An exemption is for the key or the user whose quota is used up. The client may be someone else who sent that key.
  const exempt = isKeyOrUser(counted) ? counted : client;
  const subject = access === 'exempt' ? exempt : client;
  // Counters that other clients share stay.
  const shares = [client, ...names, counted, ...networks].filter((name) => !isOfMany(name));
  return {
    ...ofDay(subject, Date.parse(last)),
    own: [...new Set([subject, ...own])],
    partitions: [...new Set(shares)],
    behind: isAddress(client) ? undefined : names.find(isAddress),
  };
}
