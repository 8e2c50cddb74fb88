/**
 * Who is asking: which of the things that a request says about its client may be believed, and the opaque partition
 * keys that stand for them from here on. Nothing behind this file sees an address or an API key.
 */
import { createHmac, hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type AddressSet, addressNetwork, canonicalAddress, isLoopback } from './address.ts';
import { type CheckRequest, type ReportedAddresses, singleValue } from './check-request.ts';
import type { DailySalts } from './salts.ts';

export type IdentityKind = 'api_key' | 'user' | 'cf_connecting_ip' | 'ip';

/** The pseudonyms of one network under the salts of two days. */
export interface AddressPartition {
  readonly today: string;
  readonly yesterday: string | undefined;
}

export interface ClientIdentity {
  readonly kind: IdentityKind;
  /** The client's own partition; undefined when the client is its address. */
  readonly key: string | undefined;
  /** True for an API key that the policy file does not list: it may have been made up a moment ago. */
  readonly unverified: boolean;
  readonly address: AddressPartition;
  /** The partition of the API key and of the user, whichever of them speaks for the client. */
  readonly apiKey: string | undefined;
  readonly apiKeyUnverified: boolean;
  readonly user: string | undefined;
  /** The proxy that asked is not among the trusted ones, so what it says of addresses and users was ignored. */
  readonly untrustedProxy: boolean;
}

export interface IdentityConfig {
  /** In order of precedence; the address is always the last resort. */
  readonly sources: readonly IdentityKind[];
  readonly apiKeyHeader: string;
  /** Identifiers of known keys by the lower-case hexadecimal SHA-256 of the key. */
  readonly apiKeys: ReadonlyMap<string, string>;
  readonly userHeader: string;
  readonly trustedProxies: AddressSet;
  /** Peers whose CF-Connecting-IP is believed. */
  readonly cloudflare: AddressSet;
  readonly ipv6PrefixBits: number;
}

export type IdentityResolver = (request: CheckRequest, salts: DailySalts) => ClientIdentity;

const CF_CONNECTING_IP = 'cf-connecting-ip';
const REMEMBERED_ADDRESSES = 10_000;
/** 22 base64url characters carry 132 bits: no two clients of any one deployment share a digest. */
const DIGEST_LENGTH = 22;
const UNKNOWN_ADDRESS = 'unknown';

export function compileIdentity(config: IdentityConfig): IdentityResolver {
  const readsApiKey = config.sources.includes('api_key');
  const readsUser = config.sources.includes('user');
  const readsCloudflare = config.sources.includes('cf_connecting_ip');
  const trusts = remembered(config.trustedProxies);
  const partitionOf = rememberedPartitions(config.ipv6PrefixBits);

  return (request, salts) => {
    const proxy = canonicalAddress(request.addresses.proxy);
    const trusted = proxy !== undefined && trusts(proxy);
    const cloudflareClient =
      readsCloudflare && trusted ? cloudflareAddress(request, config.cloudflare) : undefined;
    const address =
      cloudflareClient ??
      (trusted ? forwardedAddress(request.addresses, trusts) : undefined) ??
      proxy ??
      UNKNOWN_ADDRESS;

    const keyText = readsApiKey ? singleValue(request.headers, config.apiKeyHeader) : undefined;
    const digest = keyText === undefined ? undefined : hash('sha256', keyText, 'hex');
    const keyId = digest === undefined ? undefined : config.apiKeys.get(digest);
    const apiKey = digest === undefined ? undefined : apiKeyPartition(digest, keyId);
    const apiKeyUnverified = digest !== undefined && keyId === undefined;
    const userText =
      readsUser && trusted ? singleValue(request.headers, config.userHeader) : undefined;
    const user = userText === undefined ? undefined : `u.${digestOf(userText)}`;

    let kind: IdentityKind = cloudflareClient === undefined ? 'ip' : 'cf_connecting_ip';
    let key: string | undefined;
    for (const source of config.sources) {
      const found = source === 'api_key' ? apiKey : source === 'user' ? user : undefined;
      const isAddress = source === 'ip' || (source === 'cf_connecting_ip' && kind === source);
      if (found === undefined && !isAddress) continue;
      if (found !== undefined) kind = source;
      key = found;
      break;
    }
    return {
      kind,
      key,
      unverified: kind === 'api_key' && apiKeyUnverified,
      address: partitionOf(address, salts),
      apiKey,
      apiKeyUnverified,
      user,
      untrustedProxy: !trusted,
    };
  };
}

/** CF-Connecting-IP, when who connected to the proxy is Cloudflare and the header names one address. */
function cloudflareAddress(request: CheckRequest, cloudflare: AddressSet): string | undefined {
  const claimed = singleValue(request.headers, CF_CONNECTING_IP);
  if (claimed === undefined) return undefined;
  const peer = request.addresses.peer && canonicalAddress(request.addresses.peer);
  return peer !== undefined && peer !== '' && cloudflare(peer)
    ? canonicalAddress(claimed)
    : undefined;
}

/**
 * The client's address as a trusted proxy reports it. When that address is a trusted proxy itself, X-Forwarded-For is
 * walked from the right, each entry vouched for by the one after it, to the first that nobody vouches for.
 */
function forwardedAddress(reported: ReportedAddresses, trusts: AddressSet): string | undefined {
  const said = reported.client ?? reported.peer;
  if (said === undefined) return undefined;
  let address = canonicalAddress(said) ?? (reported.peer && canonicalAddress(reported.peer));
  if (!address || reported.forwardedFor === undefined) return address || undefined;
  for (const entry of reported.forwardedFor.split(',').reverse()) {
    // On loopback is a process beside the proxy, not a proxy in front of it: it must not be able to be anyone.
    if (isLoopback(address) || !trusts(address)) return address;
    const next = canonicalAddress(entry);
    // Junk: whoever passed it on is the last one we know.
    if (next === undefined) return address;
    address = next;
  }
  return address;
}

function apiKeyPartition(digest: string, id: string | undefined): string {
  return id === undefined ? `k.${digest.slice(0, 32)}` : `c.${digestOf(id)}`;
}

function digestOf(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, DIGEST_LENGTH);
}

/** The same few proxies ask all the time; looking an address up in the ranges costs more than remembering it. */
function remembered(set: AddressSet): AddressSet {
  const known = new LRUCache<string, boolean>({ max: 1_000 });
  return (address) => {
    let member = known.get(address);
    if (member === undefined) {
      member = set(address);
      known.set(address, member);
    }
    return member;
  };
}

/** Pseudonyms of recent addresses, kept as long as their salts are in force: an HMAC is a tenth of a decision. */
function rememberedPartitions(ipv6PrefixBits: number) {
  const known = new LRUCache<string, AddressPartition>({ max: REMEMBERED_ADDRESSES });
  let knownUnder: DailySalts | undefined;
  return (address: string, salts: DailySalts): AddressPartition => {
    if (salts !== knownUnder) {
      known.clear();
      knownUnder = salts;
    }
    let partition = known.get(address);
    if (partition === undefined) {
      const network =
        address === UNKNOWN_ADDRESS ? address : addressNetwork(address, ipv6PrefixBits);
      partition = {
        today: pseudonym(network, salts.today),
        yesterday: salts.yesterday && pseudonym(network, salts.yesterday),
      };
      known.set(address, partition);
    }
    return partition;
  };
}

function pseudonym(network: string, salt: DailySalts['today']): string {
  const digest = createHmac('sha256', salt).update(network).digest('base64url');
  return `i.${digest.slice(0, DIGEST_LENGTH)}`;
}
