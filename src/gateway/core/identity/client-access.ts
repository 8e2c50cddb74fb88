/** Decides whether a client is exempt or blocked: overrides come first, then the lists of the policy file. */

import type { CheckContext } from '../check-context.ts';
import type { Overrides } from '../overrides.ts';
import { type Access, type ClientAccess, isInForce, type ListEntry } from './access-lists.ts';
import { countedAddress, exemptedAddress } from './address.ts';
import type { KnownAddress } from './address-book.ts';
import type { ApiKey } from './api-key.ts';
import { pseudonymsOf } from './partition.ts';

interface ListableClient {
  readonly apiKey: Pick<ApiKey, 'partition' | 'listed'> | undefined;
  readonly user: string | undefined;
  readonly address: KnownAddress;
  /** Undefined if the proxy's own address is counted. */
  readonly reported: string | undefined;
}

export type FindAccess = (
  client: ListableClient,
  context: Pick<CheckContext, 'nowMs' | 'overrides' | 'trace'>,
) => ClientAccess | undefined;

export function compileAccess(trusts: (address: string) => boolean): FindAccess {
  /** Many clients share the address of a trusted proxy, so it never exempts them. */
  const isOfOneClient = ({ reported }: ListableClient) =>
    reported !== undefined && !trusts(reported);

  function overriddenAccess(client: ListableClient, overrides: Overrides) {
    const ofClaims = claimsOf(client);
    const ofAddress = pseudonymsOf(client.address.partition);
    const exempt = overrideAmong(ofAddress, 'exempt', overrides);
    return (
      overrideAmong(ofClaims, 'exempt', overrides) ??
      (exempt && isOfOneClient(client) && isExemptAsCounted(client) ? exempt : undefined) ??
      overrideAmong([...ofClaims, ...ofAddress], 'blocked', overrides)
    );
  }

  /** Exempt wins over blocked, whether the key or the address is listed. */
  function listedAccess(client: ListableClient, nowMs: number): ClientAccess | undefined {
    const { exempt, block } = client.address.listed;
    const key = client.apiKey?.listed;
    if (isInForce(exempt, nowMs) && isOfOneClient(client)) return listedAs('exempt', exempt);
    if (isInForce(key?.exempt, nowMs)) return listedAs('exempt', key.exempt);
    if (isInForce(block, nowMs)) return listedAs('blocked', block);
    if (isInForce(key?.block, nowMs)) return listedAs('blocked', key.block);
    return undefined;
  }

  function accessOf(client: ListableClient, { overrides, nowMs }: Parameters<FindAccess>[1]) {
    const ofFile = listedAccess(client, nowMs);
    if (overrides.access.size === 0) return ofFile;
    const overridden = overriddenAccess(client, overrides);
    if (overridden === undefined) return ofFile;
    return ofFile?.access === overridden.access
      ? { ...overridden, entry: ofFile.entry }
      : overridden;
  }

  return (client, context) => {
    const { trace } = context;
    const access = accessOf(client, context);
    trace?.({
      type: 'access',
      access,
      listed: [client.address.listed, client.apiKey?.listed].filter((each) => each !== undefined),
      isShared: !isOfOneClient(client),
    });
    trace?.({
      type: 'client-names',
      names: [...claimsOf(client), ...pseudonymsOf(client.address.partition)],
    });
    return access;
  };
}

function listedAs(access: Access, entry: ListEntry): ClientAccess {
  return { access, entry, isOverride: false };
}

function overrideAmong(
  names: readonly string[],
  access: Access,
  overrides: Overrides,
): ClientAccess | undefined {
  const name = names.find((each) => overrides.access.get(each) === access);
  if (name === undefined) return undefined;
  return { access, isOverride: true, overriddenMs: overrides.sinceMs?.get(name) };
}

function claimsOf({ apiKey, user }: ListableClient): string[] {
  return [apiKey?.partition, user].filter((each) => each !== undefined);
}

/** An override names the counted address. A tunnel counts as its IPv4 address and is not exempt with it. */
function isExemptAsCounted({ reported }: ListableClient): boolean {
  return reported !== undefined && exemptedAddress(reported) === countedAddress(reported);
}
