/**
 * Proves that invented identities cannot fill the memory of a gateway: millions of API keys, addresses, user names and
 * header values, at a moment that does not pass, so that no count is ever over and each of them would have to be kept.
 * `--identities` is how many. Exits with 1 if anything is wrong.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate as breathe } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { printTable, type Row } from '../../bench/support/table.ts';
import { readEnvironment } from '../../src/config/environment.ts';
import { createCheck } from '../../src/core/check.ts';
import type { CheckRequest } from '../../src/core/check-request.ts';
import { DenialCache } from '../../src/stores/denial-cache.ts';
import { MemoryStore } from '../../src/stores/memory/memory-store.ts';
import { policySetFrom } from '../support/policies.ts';
import { checkRequest, NOON_MS, SALTS } from '../support/requests.ts';

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

const { memoryMaxKeys: MAX_KEYS, rememberedDenials: MAX_DENIALS } = readEnvironment({});

interface Flood {
  readonly requests: number;
  readonly mostAdmitted: number;
  readonly request: (i: number) => CheckRequest;
}

/** What each of them would have to be remembered for, if anything were remembered of each. */
function floods(identities: number): Readonly<Record<string, Flood>> {
  const addresses = Math.ceil(identities / 100);
  const users = Math.ceil(identities / 10);
  const tenantAddresses = Math.ceil(users / 100);
  return {
    'API keys, one address': {
      requests: identities,
      mostAdmitted: LIMIT * UNVERIFIED_FACTOR,
      request: (i) => invented({ 'x-api-key': `invented-${i}` }, ipv4(0)),
    },
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
    'users, then tenants': {
      requests: 2 * users,
      mostAdmitted: users + LIMIT * UNVERIFIED_FACTOR * tenantAddresses,
      request: (i) =>
        i < users
          ? invented({ 'x-user': `invented-${i}` }, ipv4(0))
          : invented({ 'x-tenant': `invented-${i}` }, ipv4(i % tenantAddresses), '/tenants'),
    },
  };
}

function invented(headers: Record<string, string>, client: string, target = '/'): CheckRequest {
  return checkRequest({ headers, client, peer: client, target });
}

function ipv4(number: number): string {
  return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
}

/** Each in a network of its own. */
function ipv6(number: number): string {
  return `2001:db8:${(number >>> 16).toString(16)}:${(number & 0xffff).toString(16)}::1`;
}

/** A gateway without its servers. */
function createGateway(maxKeys: number) {
  const now = () => NOON_MS;
  const store = new MemoryStore({ now, maxKeys });
  let remembered = 0;
  const onRemembered = () => {
    remembered++;
  };
  const cache = new DenialCache({ store, now, maxEntries: MAX_DENIALS, onRemembered });
  cache.enable();
  const check = createCheck({
    store: cache,
    local: store,
    salts: { at: () => SALTS },
    onUntrustedProxy: () => {},
    onIgnoredHeaders: () => {},
  });
  const policies = policySetFrom(POLICIES);
  return {
    ask: async (request: CheckRequest) => check(request, policies, NOON_MS),
    keys: () => store.size,
    remembered: () => remembered,
  };
}

interface Figures {
  readonly admitted: number;
  readonly keys: number;
  readonly denials: number;
  readonly rssBefore: number;
  readonly rssPeak: number;
  readonly rssAfter: number;
  readonly seconds: number;
}

const TOLD_EVERY = 500_000;

async function flood(name: string, { requests, request }: Flood): Promise<Figures> {
  const gateway = createGateway(MAX_KEYS);
  const rssBefore = settledRss();
  const startedMs = performance.now();
  let admitted = 0;
  for (let i = 0; i < requests; i++) {
    if ((await gateway.ask(request(i))).verdict === 'allow') admitted++;
    if (i % TOLD_EVERY !== 0) continue;
    console.error(`${name}: ${i} of ${requests}`);
    await breathe();
  }
  const seconds = (performance.now() - startedMs) / 1000;
  const rssPeak = process.resourceUsage().maxRSS * 1024;
  const rssAfter = settledRss();
  const keys = gateway.keys();
  const denials = await denialsRemembered(gateway, (back) => request(requests - 1 - back));
  return { admitted, keys, denials, rssBefore, rssPeak, rssAfter, seconds };
}

/** The cache does not say how much it holds: so what was denied is asked again, the last one first, until it forgot. */
async function denialsRemembered(
  gateway: ReturnType<typeof createGateway>,
  requestBack: (back: number) => CheckRequest,
): Promise<number> {
  const before = gateway.remembered();
  for (let back = 0; back <= 2 * MAX_DENIALS; back++) {
    await gateway.ask(requestBack(back));
    if (gateway.remembered() - before === back) return back;
  }
  return Number.POSITIVE_INFINITY;
}

/** Once nothing is held that nobody needs. */
function settledRss(): number {
  globalThis.gc?.();
  return process.memoryUsage.rss();
}

/** Of stores that are full and go on being flooded; what does not grow with them is in both. */
async function bytesPerKey(): Promise<number> {
  const small = await heapOf(MAX_KEYS / 8);
  const large = await heapOf(MAX_KEYS / 4);
  return (large - small) / (MAX_KEYS / 8);
}

async function heapOf(maxKeys: number): Promise<number> {
  const before = heap();
  const gateway = createGateway(maxKeys);
  const identities = 4 * maxKeys;
  const { request } = floods(identities)['IPv6 /64 networks by a CDN'] as Flood;
  for (let i = 0; i < identities; i++) await gateway.ask(request(i));
  const bytes = heap() - before;
  if (gateway.keys() !== maxKeys) throw new Error(`${gateway.keys()} keys instead of ${maxKeys}`);
  return bytes;
}

function heap(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
const { values } = parseArgs({
  options: { identities: { type: 'string', default: '5000000' }, flood: { type: 'string' } },
});
const N = Number(values.identities);
if (values.flood === 'bytes') console.log(await bytesPerKey());
else console.log(await flood(values.flood!, floods(N)[values.flood!]!));
