/**
 * What does a call of Envoy's rate limit filter cost (`ShouldRateLimit`), against a check of ext_authz over the same
 * server? `--binary PATH`: and against envoyproxy/ratelimit, by the path of its program.
 *
 * One gateway answers both services. 10,000 clients and limits that admit all of them, or one client that is over its
 * limit. Two connections with 32 calls at a time, as from an Envoy with two threads.
 */
import { parseArgs } from 'node:util';
import { checkRequestBytes } from '../test/support/grpc-client.ts';
import { printTable, spread } from '../tools/table.ts';
import { startEnvoyRatelimit } from './support/envoy-ratelimit.ts';
import { grpcClosedLoop } from './support/grpc-load.ts';
import {
  CHECK_REQUEST,
  CLIENT_PLACE,
  type DescriptorEntries,
  rateLimitRequestBytes,
} from './support/grpc-messages.ts';
import { createLab, type RedisServer, type Server } from './support/lab.ts';
import { all, type Contestant, figuresOf, interleave, timesThat } from './support/rounds.ts';

const { binary } = parseArgs({ options: { binary: { type: 'string' } } }).values;
const CLIENTS = 10_000;

const POLICIES = `
version: 1
default: { limits: [1000000/1h] }
policies:
  - { name: two, match: { path: /two }, limits: [1000000/1h, 1000000/1d] }
  - { name: tight, match: { path: /tight }, limits: [1/1h] }
`;
const limitOf = (requests: number, unit = 'hour') =>
  `rate_limit: { unit: ${unit}, requests_per_unit: ${requests} }`;
const RULES = {
  'roomy.yaml': `
domain: roomy
descriptors:
  - { key: remote_address, ${limitOf(1_000_000)} }
  - { key: route, value: items, descriptors: [{ key: remote_address, ${limitOf(1_000_000)} }] }
  - { key: tenant, descriptors: [{ key: user, ${limitOf(1_000_000, 'day')} }] }
`,
  'tight.yaml': `
domain: tight
descriptors: [{ key: remote_address, ${limitOf(1)} }]
`,
};
const ONE: readonly DescriptorEntries[] = [{ remote_address: CLIENT_PLACE }];
const TWO: readonly DescriptorEntries[] = [
  { route: 'items', remote_address: CLIENT_PLACE },
  { tenant: 'acme', user: CLIENT_PLACE },
];

const checkOf = (path: string) => {
  const { attributes } = CHECK_REQUEST;
  const { request } = attributes;
  const http = { ...request.http, path };
  return checkRequestBytes({ attributes: { ...attributes, request: { ...request, http } } });
};
const everyone = { clients: CLIENTS };
const denied = { clients: 1, expects: 'deny' } as const;
const rateLimit = (domain: string, descriptors: readonly DescriptorEntries[]) => ({
  service: 'rateLimit' as const,
  message: rateLimitRequestBytes(domain, descriptors),
});
const LOADS = {
  'check, one limit': grpcClosedLoop({ ...everyone, message: checkOf('/api/items?id=1') }),
  'check, two limits': grpcClosedLoop({ ...everyone, message: checkOf('/two') }),
  'check, denied': grpcClosedLoop({ ...denied, message: checkOf('/tight') }),
  'one descriptor, one entry': grpcClosedLoop({ ...everyone, ...rateLimit('roomy', ONE) }),
  'two descriptors, two entries': grpcClosedLoop({ ...everyone, ...rateLimit('roomy', TWO) }),
  'one descriptor, denied': grpcClosedLoop({ ...denied, ...rateLimit('tight', ONE) }),
};
type LoadName = keyof typeof LOADS;

/** What each load is compared with. */
const CHECK_LIKE: Readonly<Record<LoadName, LoadName>> = {
  'check, one limit': 'check, one limit',
  'check, two limits': 'check, two limits',
  'check, denied': 'check, denied',
  'one descriptor, one entry': 'check, one limit',
  'two descriptors, two entries': 'check, two limits',
  'one descriptor, denied': 'check, denied',
};
const NAMES = Object.keys(LOADS) as LoadName[];
const CALLS = NAMES.filter((name) => !name.startsWith('check'));

interface Entry extends Contestant {
  readonly where: string;
  readonly call: LoadName;
}

const entriesOf = (
  where: string,
  calls: readonly LoadName[],
  server: Server,
  redis?: RedisServer,
) =>
  calls.map(
    (call): Entry => ({ where, call, name: `${where}: ${call}`, server, redis, load: LOADS[call] }),
  );

await using lab = createLab();
const redis = await lab.redis();
const rules = lab.folder(RULES);
const gateway = (url?: string) => lab.gateway(POLICIES, url, { HEADGATE_RATELIMIT_CONFIG: rules });
const entries: Entry[] = [
  ...entriesOf('memory', NAMES, await gateway()),
  ...entriesOf('Redis', NAMES, await gateway(redis.url()), redis),
];
if (binary !== undefined) {
  const theirRedis = await lab.redis();
  const rival = await startEnvoyRatelimit(lab, theirRedis, { program: binary, files: RULES });
  entries.push(...entriesOf('envoyproxy/ratelimit', CALLS, rival, theirRedis));
}

const outcomes = await interleave(entries, { rounds: 9, loadIs: '64 calls at a time' });
printTable(
  entries.flatMap(({ where, call }, i) => {
    const outcome = outcomes[i];
    // The rival answers no checks: its calls are compared with checks of headgate on Redis.
    const store = where === 'memory' ? where : 'Redis';
    const check = outcomes[indexOf(store, CHECK_LIKE[call])];
    const simplest = outcomes[indexOf(store, 'check, one limit')];
    if (outcome === undefined || check === undefined || simplest === undefined) return [];
    // envoyproxy/ratelimit calls no scripts.
    const { 'script calls/request': _unused, ...figures } = figuresOf(outcome);
    return {
      ...figures,
      'all CPU us/request': spread(all(outcome, 'totalMicrosPerRequest')),
      'all CPU, times the check alike': timesThat(outcome, check, 'totalMicrosPerRequest'),
      'all CPU, times a check of one limit': timesThat(outcome, simplest, 'totalMicrosPerRequest'),
    };
  }),
);

function indexOf(where: string, call: LoadName): number {
  return entries.findIndex((entry) => entry.where === where && entry.call === call);
}
