/** Decides whether a client is exempt or blocked: overrides come first, then the lists of the policy file. */
import type { Access, ListedUntil } from './access-lists.ts';
import { countedAddress, exemptedAddress } from './address.ts';
import type { KnownAddress } from './address-book.ts';
import type { ApiKey } from './api-key.ts';
import type { CheckContext } from './check-context.ts';
import type { Overrides } from './overrides.ts';
import { pseudonymsOf } from './partition.ts';

/** Everything about a client that a list or an override can name. */
export interface ListableClient {
  readonly apiKey: ApiKey | undefined;
  /** A partition. */
  readonly user: string | undefined;
  readonly address: KnownAddress;
  /** The client's address as the proxy reports it; undefined if the proxy's own address is counted. */
  readonly reported: string | undefined;
}

export type FindAccess = (client: ListableClient, context: CheckContext) => Access | undefined;

/** `trusts` tells trusted proxies from clients. */
export function compileAccess(trusts: (address: string) => boolean): FindAccess {
  /** Many clients share the address of a trusted proxy, so it never exempts them. */
  const isOfOneClient = ({ reported }: ListableClient) =>
    reported !== undefined && !trusts(reported);

  function overriddenAccess(client: ListableClient, { access }: Overrides): Access | undefined {
    const ofClaims = claimsOf(client).map((each) => access.get(each));
    const ofAddress = pseudonymsOf(client.address.partition).map((each) => access.get(each));
    if (ofClaims.includes('exempt')) return 'exempt';
    if (ofAddress.includes('exempt') && isOfOneClient(client) && isExemptAsCounted(client)) {
      return 'exempt';
    }
    return [...ofClaims, ...ofAddress].includes('blocked') ? 'blocked' : undefined;
  }

  /** Exempt wins over blocked, whether the key or the address is listed. */
  function listedAccess(client: ListableClient, nowMs: number): Access | undefined {
    const address: ListedUntil = client.address.listedUntil;
    const key: ListedUntil | undefined = client.apiKey?.listedUntil;
    if (nowMs < address.exemptUntilMs && isOfOneClient(client)) return 'exempt';
    if (key !== undefined && nowMs < key.exemptUntilMs) return 'exempt';
    if (nowMs < address.blockedUntilMs) return 'blocked';
    if (key !== undefined && nowMs < key.blockedUntilMs) return 'blocked';
    return undefined;
  }

  return (client, { overrides, nowMs, trace }) => {
    const overridden =
      overrides.access.size === 0 ? undefined : overriddenAccess(client, overrides);
    const access = overridden ?? listedAccess(client, nowMs);
    if (access !== undefined) {
      trace?.({ type: 'access', access, isOverride: overridden !== undefined });
    }
    trace?.({
      type: 'client-names',
      names: [...claimsOf(client), ...pseudonymsOf(client.address.partition)],
    });
    return access;
  };
}

/** The partitions of the key and of the user. */
function claimsOf({ apiKey, user }: ListableClient): string[] {
  return [apiKey?.partition, user].filter((each) => each !== undefined);
}

/** An override names the counted address. A tunnel counts as its IPv4 address and is not exempt with it. */
function isExemptAsCounted({ reported }: ListableClient): boolean {
  return reported !== undefined && exemptedAddress(reported) === countedAddress(reported);
}
