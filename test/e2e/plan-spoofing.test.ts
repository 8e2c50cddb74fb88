/** No client gives itself a plan: not by a header, however it is spelled, and not by metadata. */
import { hash } from 'node:crypto';
import { describe, expect, inject, test } from 'vitest';
import { BLANKS, withBlanks } from '../support/blanks.ts';
import { startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { ENVOYS, startEnvoyGrpc } from '../support/proxies.ts';
import { proxyConfigOf } from '../support/proxy-config.ts';
import { isHere, PROXY_ROWS } from '../support/proxy-starts.ts';
import { answerTo, statusOf } from '../support/raw-http.ts';
import { temporaryFile } from '../support/temporary.ts';
import { startByteApplication } from './support/byte-application.ts';
import { HTTP_2, statusOverHttp2 } from './support/http2.ts';
import { planFile } from './support/plan-files.ts';

const programs = inject('programs');
const KEY = 'the-key-of-acme';
/** The client is known by its key, so a plan that a proxy names would count. */
const POLICIES = `version: 1
identity:
  sources: [api_key, ip]
  api_key: { keys: [{ id: acme, sha256: ${hash('sha256', KEY, 'hex')} }] }
  plan: { header: x-plan }
  verified_headers: [x-plan]
default:
  limits: [100000/1h]
  plans: { free: [200000/1h], gold: [300000/1h] }
`;

const GOLD = [
  'gold',
  ...['gold,gold', 'gold, free', 'free, gold', ',gold', 'gold,', '"gold"', 'gold;q=1', 'GOLD'],
  ...BLANKS.flatMap((blank) => withBlanks('gold', blank)),
];
const NAMES = [
  ...['X-Plan', 'x-plan', 'X-PLAN', 'x-PlAn'],
  ...[
    'X_Plan',
    'x_plan',
    'X-Plan_',
    '_X-Plan',
    'X.Plan',
    'X Plan',
    'X-Plan ',
    ' X-Plan',
    'X-Plan\t',
  ],
  ...['X-Plan\0', 'X-Plan\x85', 'X-Plan\xa0', 'HTTP_X_PLAN', 'X-Forwarded-Plan', 'X-Plan-X-Plan'],
];

/** Lines of a request. One of them is enough for a plan, if anything believes it. */
const SPOOFS: readonly (readonly string[])[] = [
  ...GOLD.map((value) => [`X-Plan: ${value}`]),
  ...NAMES.map((name) => [`${name}: gold`]),
  ...NAMES.map((name) => ['X-Plan: gold', `${name}: gold`]),
  ['X-Plan: gold', 'X-Plan: gold'],
  ['X-Plan:', 'X-Plan: gold'],
  ['X-Plan: gold', 'X-Plan:'],
  ['X-Plan: free', 'x-plan: gold'],
  ['X-Plan:gold'],
  ['X-Plan:\r\n gold'],
  ['X-Plan:\r\n\tgold'],
  ['X-Other: a\r\n X-Plan: gold'],
  ['X-Other: a\rX-Plan: gold'],
  ['X-Other: a\nX-Plan: gold'],
  ['X-Plan: gold', 'Connection: x-plan'],
  ['X-Plan: gold', 'Connection: close, X-Plan'],
  ['X-Plan: gold', 'X-Headgate-Plan: gold', 'X-Headgate-Secret: a'],
  ['X-Other: '.padEnd(7_000, 'a'), 'X-Plan: gold'],
  [...Array.from({ length: 60 }, (_, i) => `X-Other-${i}: a`), 'X-Plan: gold'],
];
/** In the trailers of a request. */
const TRAILER =
  'Transfer-Encoding: chunked\r\nTrailer: X-Plan\r\nConnection: close\r\n\r\n1\r\na\r\n0\r\nX-Plan: gold\r\n\r\n';

type Status = number | undefined;
type Headers = Readonly<Record<string, string>>;

const overHttp1 = (url: string, path: string, lines: readonly string[]): Promise<Status> =>
  send(url, path, [...lines, 'Connection: close', '', ''].join('\r\n'));

async function send(url: string, path: string, rest: string): Promise<Status> {
  const head = `GET ${path} HTTP/1.1\r\nHost: a.example\r\nX-Api-Key: ${KEY}\r\nAccept: */*\r\n${rest}`;
  return statusOf(await answerTo(url, Buffer.from(head, 'latin1')));
}

/** Node sends nothing that HTTP/2 forbids. */
const HEADERS: readonly Headers[] = [
  ...GOLD.map((value) => ({ 'x-plan': value })),
  ...['x_plan', 'x.plan', 'x-plan_', '_x-plan'].map((name) => ({ [name]: 'gold' })),
];

/** How many requests had each plan, as the gateway has counted them. */
async function plansSeen(opsUrl: string): Promise<Record<string, number>> {
  const { body } = await call(opsUrl, '/metrics');
  const samples = body.matchAll(/^headgate_plan_total\{plan="(.*)"\} (\d+)$/gm);
  return Object.fromEntries([...samples].map(([, plan, count]) => [plan, Number(count)]));
}

async function decisions(opsUrl: string): Promise<number> {
  const { body } = await call(opsUrl, '/metrics');
  const samples = [...body.matchAll(/^headgate_decisions_total\{.*\} (\d+)$/gm)];
  return samples.reduce((sum, [, count]) => sum + Number(count), 0);
}

// Another row has the same file of NGINX.
const rows = PROXY_ROWS.filter(({ proxy }) => proxy !== 'NGINX behind Cloudflare');

describe.each(rows)('$proxy $program', (row) => {
  const ways = [
    ['ships', 'as shipped, the proxy passes on no plan, and no client gets one'],
    ['removes', 'the proxy removes the header, and no client gets a plan'],
    ['sets', 'the proxy sets the header, and clients have that plan or are refused'],
  ] as const;
  // Those that send all headers are no files for this policy file, as doctor says.
  const possible = ways.filter(([way]) => planFile(row, POLICIES, way) !== undefined);
  describe.each(possible)('%s', (way, title) => {
    const file = planFile(row, POLICIES, way);
    if (file === undefined) return;

    async function attack(changes: Headers, sends: readonly ((url: string) => Promise<Status>)[]) {
      await using stack = new AsyncDisposableStack();
      const policies = temporaryFile(stack, POLICIES);
      const gateway = stack.use(
        await startGateway({ HEADGATE_POLICIES: policies, HEADGATE_GRPC_PORT: '0' }),
      );
      const { port: application } = stack.use(await startByteApplication());
      const { port: headgate, grpcPort: grpc, opsUrl } = gateway;
      const behind = { application, headgate, grpc, ...file };
      const proxy = stack.use(
        await row.start({ ...behind, changes: { ...file?.changes, ...changes } }),
      );
      const statuses = await Promise.all(sends.map((each) => each(proxy.url)));
      const allowed = statuses.filter((status) => status === 200).length;
      const seen = await plansSeen(opsUrl);
      expect(Object.keys(seen)).toEqual(way === 'sets' ? ['free'] : []);
      // Many were refused by the proxy or by headgate, but not all: these had no plan, or that of the proxy.
      expect(allowed).toBeGreaterThan(sends.length / 4);
      expect(await decisions(opsUrl)).toBeGreaterThanOrEqual(allowed);
      if (way === 'sets') expect(seen.free).toBeGreaterThanOrEqual(allowed);
      for (const status of statuses)
        expect([200, 400, 403, 408, 431, 501, undefined]).toContain(status);
    }

    const testWith = test.skipIf(!isHere(row, programs));
    testWith(`${title}, over HTTP/1.1`, { timeout: 120_000 }, async () => {
      const spoofs = SPOOFS.map((lines, i) => (url: string) => overHttp1(url, `/${i}`, lines));
      await attack({}, [...spoofs, (url) => send(url, '/trailer', TRAILER)]);
    });

    const changes = HTTP_2[row.proxy];
    if (changes === undefined) return;
    testWith(`${title}, over HTTP/2`, { timeout: 120_000 }, async () => {
      const key = { 'x-api-key': KEY };
      await attack(
        changes,
        HEADERS.map((headers, i) => (url) => statusOverHttp2(url, `/${i}`, { ...key, ...headers })),
      );
    });
  });
});

/** What a filter of the proxy says of a request, in the namespace that the policy file names and in another one. */
const METADATA_POLICIES = `version: 1
identity:
  sources: [user, ip]
  user: { metadata: my.filter, claim: [payload, sub] }
  plan: { metadata: my.filter, claim: [payload, plan] }
default:
  limits: [100000/1h]
  plans: { gold: [300000/1h] }
`;
/** The header `x-case` says what the filter writes: the functions of a script in Lua. */
const CASES = {
  named: 'payload = { sub = "alice", plan = "gold" }',
  large: 'payload = { sub = "alice", plan = "gold", filler = string.rep("x", 100000) }',
  'large user': 'payload = { sub = string.rep("x", 100000), plan = "gold" }',
  'many names': 'payload = many({ sub = "alice", plan = "gold" })',
  'many plans': 'payload = { sub = "alice", plan = many({}) }',
  deep: 'payload = { sub = "alice", plan = deep() }',
  'of no user': 'payload = { plan = "gold" }',
  padded: 'payload = { sub = "alice", plan = " gold " }',
  'a list': 'payload = { sub = "alice", plan = { "gold", "gold" } }',
  'a list of one': 'payload = { sub = "alice", plan = { "gold" } }',
  'with a line break': 'payload = { sub = "alice", plan = "gold\\n" }',
  'another namespace': 'namespace = "foreign.filter"; payload = { sub = "alice", plan = "gold" }',
  'one like it': 'namespace = "my.filter.payload"; payload = { sub = "alice", plan = "gold" }',
} as const;
const SCRIPT = `
local function many(names)
  for i = 1, 5000 do names["name" .. i] = "gold" end
  return names
end
local function deep()
  local inner = "gold"
  for i = 1, 60 do inner = { plan = inner } end
  return inner
end
local cases = {}
${Object.entries(CASES)
  .map(
    ([name, code]) =>
      `cases["${name}"] = function() local namespace, payload = "my.filter"; ${code}; return namespace, payload end`,
  )
  .join('\n')}
function envoy_on_request(request)
  local namespace, payload = cases[request:headers():get("x-case")]()
  request:streamInfo():dynamicMetadata():set(namespace, "payload", payload)
end
`;
const LUA = {
  name: 'claims',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua',
    default_source_code: { inline_string: SCRIPT },
  },
};
const CHECK = '- name: headgate.ext_authz\n';

describe.each(ENVOYS)('metadata through %s', (program) => {
  test.skipIf(programs[program] === undefined)(
    'gives a plan only from the namespace of the policy file, and only where it is one text',
    async () => {
      await using stack = new AsyncDisposableStack();
      const policies = temporaryFile(stack, METADATA_POLICIES);
      const gateway = stack.use(
        await startGateway({ HEADGATE_POLICIES: policies, HEADGATE_GRPC_PORT: '0' }),
      );
      const { port: application } = stack.use(await startByteApplication());
      // Both namespaces arrive.
      const text = proxyConfigOf('envoy-grpc', METADATA_POLICIES)
        .replace(CHECK, () => `- ${JSON.stringify(LUA)}\n                  ${CHECK}`)
        .replace('["my.filter"]', '["my.filter", "foreign.filter", "my.filter.payload"]');
      const { port: headgate, grpcPort: grpc, opsUrl } = gateway;
      const proxy = stack.use(await startEnvoyGrpc({ application, headgate, grpc, text }, program));
      const limitFor = async (name: string) => {
        const { headers } = await call(proxy.url, '/', { headers: { 'x-case': name } });
        return headers['x-ratelimit-limit'];
      };
      const [gold, none] = ['300000', '100000'];
      const limits = Object.fromEntries(
        await Promise.all(
          Object.keys(CASES).map(async (name) => [name, await limitFor(name)] as const),
        ),
      );
      expect(limits).toEqual({
        ...Object.fromEntries(Object.keys(CASES).map((name) => [name, none])),
        ...{ named: gold, large: gold, 'many names': gold, 'a list of one': gold },
      });
      expect(await plansSeen(opsUrl)).toEqual({ gold: 4, unknown: 1 });
    },
  );
});
