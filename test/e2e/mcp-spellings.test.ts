/**
 * Thousands of spellings of one call of a tool, through real proxies, after the limits of the tool and of calls without
 * headers are used up: no server runs the tool again.
 */
import { describe, expect, inject, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { servesPath } from '../support/lenient-servers.ts';
import type { ProgramName } from '../support/programs.ts';
import {
  type Behind,
  type RunningProxy,
  startCaddy,
  startEnvoy,
  startEnvoyForMcp,
  startHaproxy,
  startNginx,
} from '../support/proxies.ts';
import { answerTo, statusOf } from '../support/raw-http.ts';
import { isShort } from '../support/short-form.ts';
import { temporaryFile } from '../support/temporary.ts';
import {
  CALL_HEADERS_IN_ENVOY,
  CALL_HEADERS_IN_HAPROXY,
  CALL_HEADERS_IN_NGINX,
} from './support/mcp/call-headers.ts';
import {
  BARE_ANSWER,
  bytesOf,
  callSpellings,
  namedCall,
  type SpelledCall,
  USUAL_CALLS,
} from './support/mcp/call-spellings.ts';
import { statusOverHttp2 } from './support/mcp/calls-over-http2.ts';
import { encoded, OTHER_TOOL, TOOL } from './support/mcp/spelled-headers.ts';
import {
  type IndexedServer,
  startCarelessServer,
  startOldServer,
  startServer,
} from './support/mcp/typescript-servers.ts';

const CONNECTIONS = 16;
const { singles: SINGLES, pairs: PAIRS } = callSpellings();
const PAIRS_PER_TRIAL = isShort ? 100 : 3_000;

const policiesOf = (vouches: boolean) => `
version: 1
identity: { sources: [ip]${vouches ? ', verified_headers: [mcp-method, mcp-name]' : ''} }
default: { limits: [1000000/1h] }
policies:
  - { name: seek, match: { path: /mcp, mcp: { method: tools/call, name: ${TOOL} } }, limits: [2/1h] }
  - { name: tools, match: { path: /mcp, mcp: { method: tools/call, name: "*" } }, limits: [1000000/1h] }
  - { name: bare, match: { path: /mcp, mcp: { method: none } }, limits: [2/1h] }
`;

interface Trial {
  readonly name: string;
  readonly program: ProgramName;
  readonly start: (behind: Behind) => Promise<RunningProxy>;
  readonly server: (
    tools: readonly string[],
    serves: (target: string) => boolean,
  ) => Promise<IndexedServer>;
  readonly vouches?: true;
  readonly isHttp2?: true;
  /** What the server answers to a current call; 200 if absent. */
  readonly status?: number;
}

const inNginx = (behind: Behind) => startNginx({ ...behind, changes: CALL_HEADERS_IN_NGINX });
const inHaproxy = (behind: Behind) => startHaproxy({ ...behind, changes: CALL_HEADERS_IN_HAPROXY });
const inEnvoy = (behind: Behind) => startEnvoy({ ...behind, changes: CALL_HEADERS_IN_ENVOY });
const careless: Trial['server'] = (_, serves) => startCarelessServer(serves);
const ENVOY = { program: 'envoy', start: inEnvoy } as const;
const FOR_MCP = { program: 'envoy', start: startEnvoyForMcp, vouches: true } as const;

const TRIALS: readonly Trial[] = [
  { name: 'NGINX', program: 'nginx', start: inNginx, server: startServer },
  { name: 'Caddy', program: 'caddy', start: startCaddy, server: startServer },
  { name: 'HAProxy', program: 'haproxy', start: inHaproxy, server: startServer },
  { name: 'Envoy', ...ENVOY, server: startServer },
  { name: 'Envoy over HTTP/2', ...ENVOY, server: startServer, isHttp2: true },
  {
    name: 'Caddy, before a server of 2025-11-25',
    program: 'caddy',
    start: startCaddy,
    server: startOldServer,
    status: 400,
  },
  { name: 'Envoy that reads bodies', ...FOR_MCP, server: startServer },
  { name: 'Envoy that reads bodies, over HTTP/2', ...FOR_MCP, server: startServer, isHttp2: true },
  {
    name: 'Envoy that reads bodies, before a server that reads no headers',
    ...FOR_MCP,
    server: careless,
  },
];

const programs = inject('programs');

/** All with one change, and each trial has other pairs of changes. */
const spellingsOf = (trial: number) => [
  ...SINGLES,
  ...PAIRS.filter((_, i) => i % TRIALS.length === trial).slice(0, PAIRS_PER_TRIAL),
];

test('the spellings try something: many run the tool if nothing is in between', async () => {
  await using server = await startServer([TOOL, OTHER_TOOL]);
  const url = `http://127.0.0.1:${server.port}`;
  const sent = spellingsOf(0);
  await forEach(sent, (call, i) => answerTo(url, bytesOf(call, i)));
  const runs = new Set(server.ranFor(TOOL)).size;
  console.log(`no proxy: ${sent.length} spellings tried, ${runs} run the tool`);
  expect(runs).toBeGreaterThan(50);
});

describe.each(TRIALS.map((trial, i) => ({ ...trial, i })))('$name', ({ i, ...trial }) => {
  test.skipIf(programs[trial.program] === undefined)('nothing is free', async () => {
    await using stack = new AsyncDisposableStack();
    const serves = (target: string) => servesPath(target, '/mcp').length > 0;
    const server = stack.use(await trial.server([TOOL, OTHER_TOOL], serves));
    const HEADGATE_POLICIES = temporaryFile(stack, policiesOf(trial.vouches === true));
    const gateway = stack.use(await startGateway({ HEADGATE_POLICIES, HEADGATE_GRPC_PORT: '0' }));
    const behind = { application: server.port, headgate: gateway.port, grpc: gateway.grpcPort };
    const { url } = stack.use(await trial.start(behind));

    const used = [...USUAL_CALLS, BARE_ANSWER].flatMap((call) => [call, call, call]);
    for (const call of used) await answerTo(url, bytesOf(call, -1));
    const allowed = server.ran(TOOL);
    expect(allowed).toBeGreaterThan(0);
    expect(allowed).toBeLessThanOrEqual(4);

    const own = spellingsOf(i);
    const send = trial.isHttp2 ? statusOverHttp2 : statusOverHttp1;
    let denied = 0;
    await forEach(own, async (call, at) => {
      if ((await send(url, call, at)) === 429) denied++;
    });
    const free = server
      .ranFor(TOOL)
      .filter((at) => at !== '-1')
      .map((at) => own[Number(at)]);
    console.log(
      `${trial.name}: ${own.length} spellings tried, ${denied} denied with 429, ${free.length} free requests`,
    );
    expect(free.slice(0, 10)).toEqual([]);
    expect(denied).toBeGreaterThan(100);

    const { status = 200 } = trial;
    const others = [OTHER_TOOL, encoded(OTHER_TOOL), `${OTHER_TOOL}  `].map(namedCall);
    for (const call of others)
      expect(statusOf(await answerTo(url, bytesOf(call, -1)))).toBe(status);
    // A spelling that ended without an answer may still run the other tool, so it has another index.
    const ran = server.ranFor(OTHER_TOOL).filter((at) => at === '-1');
    if (status === 200) expect(ran).toHaveLength(others.length);
  });
});

async function statusOverHttp1(url: string, call: SpelledCall, index: number) {
  return statusOf(await answerTo(url, bytesOf(call, index)));
}

/** Several at once. */
async function forEach<T>(all: readonly T[], act: (each: T, i: number) => Promise<unknown>) {
  const waiting = all.entries();
  const work = async () => {
    for (const [i, each] of waiting) await act(each, i);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
}
