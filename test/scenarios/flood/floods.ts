/** Floods of invented identities, and a gateway without servers for them. */
import { createCheck, UNOBSERVED } from '../../../src/gateway/core/check.ts';
import type { CheckRequest } from '../../../src/gateway/core/check-request.ts';
import type { Salts } from '../../../src/gateway/core/identity/salts.ts';
import { NO_OVERRIDES } from '../../../src/gateway/core/overrides.ts';
import { DenialCache } from '../../../src/gateway/stores/denial-cache.ts';
import { MemoryStore } from '../../../src/gateway/stores/memory/memory-store.ts';
import { policySetFrom } from '../../support/policies.ts';
import { checkRequest, NOON_MS, SALTS } from '../../support/requests.ts';

const LIMIT = 20;
/** How many times the limit the unlisted keys of one address have together, by default. */
const UNVERIFIED_FACTOR = 2;
const POLICIES = `
version: 1
identity: { sources: [api_key, user, cf_connecting_ip, ip] }
default: { limits: [${LIMIT}/1h] }
policies:
  - { name: tenants, match: { path: /tenants }, limits: [{ rate: ${LIMIT}/1h, per: "header:x-tenant" }] }`;
const CDN = '173.245.48.9';

export interface Flood {
  /** One request per identity. */
  readonly requests: number;
  /** Holds while the store forgets no count. */
  readonly mostAdmitted: number;
  readonly request: (i: number) => CheckRequest;
}

/** The longest floods come first, so that no core is idle at the end. */
export function floodsOf(identities: number) {
  const addresses = Math.ceil(identities / 100);
  const users = Math.ceil(identities / 10);
  const tenantAddresses = Math.ceil(users / 100);
  return {
    'API keys, a hundred an address': {
      requests: identities,
      mostAdmitted: LIMIT * UNVERIFIED_FACTOR * addresses,
      request: (i) => invented({ 'x-api-key': `invented-${i}` }, ipv4(i % addresses)),
    },
    'IPv6 /64 networks by a CDN': {
      requests: identities,
      mostAdmitted: identities,
      request: (i) => invented({ 'cf-connecting-ip': ipv6(i) }, CDN),
    },
    'API keys, one address': {
      requests: identities,
      mostAdmitted: LIMIT * UNVERIFIED_FACTOR,
      request: (i) => invented({ 'x-api-key': `invented-${i}` }, ipv4(0)),
    },
    'users, then tenants': {
      requests: 2 * users,
      mostAdmitted: users + LIMIT * UNVERIFIED_FACTOR * tenantAddresses,
      request: (i) =>
        i < users
          ? invented({ 'x-user': `invented-${i}` }, ipv4(0))
          : invented({ 'x-tenant': `invented-${i}` }, ipv4(i % tenantAddresses), '/tenants'),
    },
  } satisfies Record<string, Flood>;
}

function invented(headers: Record<string, string>, client: string, target = '/'): CheckRequest {
  return checkRequest({ headers, client, peer: client, target });
}

function ipv4(number: number): string {
  return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
}

/** Each in its own /64 network. */
function ipv6(number: number): string {
  return `2001:db8:${(number >>> 16).toString(16)}:${(number & 0xffff).toString(16)}::1`;
}

/** On its first day a gateway knows no salts of the day before. */
const FIRST_DAY: Salts = {
  ...SALTS,
  daily: { ...SALTS.daily, previous: undefined },
  long: undefined,
};

export interface Capacity {
  readonly maxKeys: number;
  readonly maxDenials: number;
}

/** Its clock stands still, so no count ever expires. */
export function createGateway({ maxKeys, maxDenials }: Capacity) {
  const now = () => NOON_MS;
  const store = new MemoryStore({ now, maxKeys });
  let remembered = 0;
  const onRemembered = () => {
    remembered++;
  };
  const cache = new DenialCache({ store, now, maxEntries: maxDenials, onRemembered });
  cache.enable();
  const check = createCheck({
    store: cache,
    local: store,
    salts: { at: () => FIRST_DAY },
    overrides: { current: NO_OVERRIDES },
    newId: () => 'an-id',
    observer: UNOBSERVED,
  });
  const policies = policySetFrom(POLICIES);
  return {
    ask: async (request: CheckRequest) => check(request, policies, NOON_MS),
    keys: () => store.size,
    remembered: () => remembered,
  };
}

export type Gateway = ReturnType<typeof createGateway>;
