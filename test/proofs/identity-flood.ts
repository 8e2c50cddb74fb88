/**
 * Proves that invented identities cannot fill the memory of a gateway: millions of API keys, addresses, user names and
 * header values, at a moment that does not pass, so that no count is ever over and each of them would have to be kept.
 * `--identities` is how many. Exits with 1 if anything is wrong.
 *
 * Each flood has a process, and so an RSS, of its own; `--flood` is how such a process is told which one.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { printTable, type Row } from '../../bench/support/table.ts';
import { readEnvironment } from '../../src/config/settings/environment.ts';
import { createCheck, NO_EVENTS } from '../../src/core/check.ts';
import type { CheckRequest } from '../../src/core/check-request.ts';
import { NO_OVERRIDES } from '../../src/core/overrides.ts';
import type { Salts } from '../../src/core/salts.ts';
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
  /** One for each identity. */
  readonly requests: number;
  /** As long as no count is forgotten. */
  readonly mostAdmitted: number;
  readonly request: (i: number) => CheckRequest;
}

/** Those that take longest come first, so that no core is idle at the end. */
function floodsOf(identities: number) {
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

/** Each in a network of its own. */
function ipv6(number: number): string {
  return `2001:db8:${(number >>> 16).toString(16)}:${(number & 0xffff).toString(16)}::1`;
}

/** On its first day it knows no salts of the day before. */
const FIRST_DAY: Salts = { daily: { ...SALTS.daily, previous: undefined }, long: undefined };

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
    salts: { at: () => FIRST_DAY },
    overrides: { current: NO_OVERRIDES },
    newId: () => 'an-id',
    events: NO_EVENTS,
  });
  const policies = policySetFrom(POLICIES);
  return {
    ask: async (request: CheckRequest) => check(request, policies, NOON_MS),
    keys: () => store.size,
    remembered: () => remembered,
  };
}

type Gateway = ReturnType<typeof createGateway>;

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

async function measureFlood(name: string, { requests, request }: Flood): Promise<Figures> {
  const gateway = createGateway(MAX_KEYS);
  const rssBefore = settledRss();
  const startedMs = performance.now();
  let admitted = 0;
  for (let i = 0; i < requests; i++) {
    if ((await gateway.ask(request(i))).verdict === 'allow') admitted++;
    if (i % TOLD_EVERY !== 0) continue;
    console.error(`${name}: ${i} of ${requests}`);
    // So that it hears when nobody waits for it any more.
    await setImmediate();
  }
  const seconds = (performance.now() - startedMs) / 1000;
  const rssPeak = process.resourceUsage().maxRSS * 1024;
  const rssAfter = settledRss();
  const keys = gateway.keys();
  const denials = await denialsRemembered(gateway, (back) => request(requests - 1 - back));
  return { admitted, keys, denials, rssBefore, rssPeak, rssAfter, seconds };
}

/** The cache does not say how many it holds: so what came last is asked again, backwards, until one is not known. */
async function denialsRemembered(
  gateway: Gateway,
  requestBack: (back: number) => CheckRequest,
): Promise<number> {
  let found = 0;
  for (; found <= MAX_DENIALS; found++) {
    const before = gateway.remembered();
    await gateway.ask(requestBack(found));
    if (gateway.remembered() === before) break;
  }
  return found;
}

/** Once all is let go of that nobody needs. */
function settledRss(): number {
  collectGarbage();
  return process.memoryUsage.rss();
}

function collectGarbage(): void {
  if (globalThis.gc === undefined) throw new Error('this needs node --expose-gc');
  globalThis.gc();
}

/** Of stores that are full and flooded on. What does not grow with them is in both, and so in neither. */
async function measureKey(): Promise<number> {
  const [small, large] = [MAX_KEYS / 16, MAX_KEYS / 8];
  return ((await heapOfFull(large)) - (await heapOfFull(small))) / (large - small);
}

const TIMES_FULL = 3;

async function heapOfFull(maxKeys: number): Promise<number> {
  const before = heapBytes();
  const gateway = createGateway(maxKeys);
  const identities = TIMES_FULL * maxKeys;
  const { request } = floodsOf(identities)['IPv6 /64 networks by a CDN'];
  for (let i = 0; i < identities; i++) await gateway.ask(request(i));
  const bytes = heapBytes() - before;
  if (gateway.keys() !== maxKeys) throw new Error(`${gateway.keys()} keys instead of ${maxKeys}`);
  return bytes;
}

function heapBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const MIB = 2 ** 20;
/** What an entry of the denial cache takes on average, as the cache itself counts. */
const DENIAL_BYTES = 1_024;
/**
 * V8 lets garbage grow to several times what lives before it collects, if it has the room. So each flood gets a heap of
 * so many times what may live: only then does the RSS say what is needed, and more than that would not fit.
 */
const ROOM_FOR_GARBAGE = 2;
/** New objects live in a part of the heap that has a limit of its own. */
const YOUNG_GENERATION = 128 * MIB;

async function prove(identities: number): Promise<void> {
  const keyBytes = (await inProcess('none', identities)) as number;
  const livingBytes = MAX_KEYS * keyBytes + MAX_DENIALS * DENIAL_BYTES;
  const heapMiB = Math.ceil((ROOM_FOR_GARBAGE * livingBytes) / MIB);
  console.log(
    `${identities} identities. A key takes ${keyBytes.toFixed(0)} bytes, so ${MAX_KEYS} keys and ${MAX_DENIALS} denials ` +
      `take ${mib(livingBytes)}.\nThe heap has ${heapMiB} MiB; the RSS may grow by that and ${mib(YOUNG_GENERATION)}.\n`,
  );
  const rows: Row[] = [];
  const wrong: string[] = [];
  const floods = Object.entries(floodsOf(identities));
  const measured = await twoAtOnce(
    floods.map(([name]) => name),
    (name) => inProcess(name, identities, heapMiB),
  );
  for (const [i, [name, flood]] of floods.entries()) {
    const figures = measured[i] as Figures | undefined;
    if (figures === undefined) {
      wrong.push(`${name}: fits into its heap`);
      continue;
    }
    rows.push(rowOf(name, flood, figures));
    wrong.push(
      ...mistakesOf(flood, figures, heapMiB * MIB + YOUNG_GENERATION).map(
        (rule) => `${name}: ${rule}`,
      ),
    );
  }
  printTable(rows);
  console.log();
  for (const each of wrong) console.log(`NOT SO, ${each}`);
  if (wrong.length === 0) console.log('bounded');
  process.exitCode = wrong.length === 0 ? 0 : 1;
}

function mistakesOf({ mostAdmitted }: Flood, figures: Figures, growth: number): string[] {
  const { admitted, keys, denials, rssBefore, rssPeak } = figures;
  const wrong: string[] = [];
  if (keys > MAX_KEYS) wrong.push(`at most ${MAX_KEYS} keys are held`);
  if (denials > MAX_DENIALS) wrong.push(`at most ${MAX_DENIALS} denials are remembered`);
  if (rssPeak > rssBefore + growth) wrong.push(`the RSS stays below ${mib(rssBefore + growth)}`);
  // A store that is full forgets some counts, and those clients begin anew.
  if (keys < MAX_KEYS && admitted > mostAdmitted)
    wrong.push(`at most ${mostAdmitted} are admitted`);
  return wrong;
}

function rowOf(name: string, { requests, mostAdmitted }: Flood, figures: Figures): Row {
  const { admitted, keys, denials, rssBefore, rssPeak, rssAfter, seconds } = figures;
  return {
    flood: name,
    identities: String(requests),
    admitted: String(admitted),
    'by the limits': String(mostAdmitted),
    'keys held': String(keys),
    'denials held': String(denials),
    'RSS before': mib(rssBefore),
    peak: mib(rssPeak),
    after: mib(rssAfter),
    seconds: seconds.toFixed(0),
  };
}

function mib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}

/** Results in the order of the jobs. */
async function twoAtOnce<T, R>(jobs: readonly T[], work: (job: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const left = jobs.entries();
  const worker = async () => {
    for (const [i, job] of left) results[i] = await work(job);
  };
  await Promise.all([worker(), worker()]);
  return results;
}

/** What a process of this program found out; undefined when it did not live to tell. */
async function inProcess(flood: string, identities: number, heapMiB?: number): Promise<unknown> {
  const limits = heapMiB === undefined ? [] : [`--max-old-space-size=${heapMiB}`];
  const child = fork(
    fileURLToPath(import.meta.url),
    ['--flood', flood, '--identities', String(identities)],
    { execArgv: ['--expose-gc', ...limits] },
  );
  let found: unknown;
  child.on('message', (message) => {
    found = message;
  });
  // Its last message arrives before the channel ends, and perhaps after the process.
  await Promise.all([once(child, 'exit'), once(child, 'disconnect')]);
  return found;
}

async function answerParent(name: string, identities: number): Promise<void> {
  process.on('disconnect', () => process.exit(1));
  const flood = Object.entries(floodsOf(identities)).find(([each]) => each === name)?.[1];
  const found = flood === undefined ? await measureKey() : await measureFlood(name, flood);
  process.send?.(found, () => process.exit());
}

const { values } = parseArgs({
  options: { identities: { type: 'string', default: '5000000' }, flood: { type: 'string' } },
});
const identities = Number(values.identities);
if (!(Number.isInteger(identities) && identities >= 1_000))
  throw new RangeError('--identities must be a whole number from 1000 on');
if (values.flood === undefined) await prove(identities);
else await answerParent(values.flood, identities);
