/** Limits for each tool of an MCP server, behind real proxies: servers and clients are those of the official SDKs. */
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import type { ProgramName } from '../support/programs.ts';
import {
  type Behind,
  type RunningProxy,
  startCaddy,
  startEnvoy,
  startEnvoyForMcp,
  startNginx,
} from '../support/proxies.ts';
import { temporaryFile } from '../support/temporary.ts';
import { CALL_HEADERS_IN_ENVOY, CALL_HEADERS_IN_NGINX } from './support/mcp/call-headers.ts';
import { type McpClient, pythonClients, TYPESCRIPT_CLIENTS } from './support/mcp/clients.ts';
import { startPythonServer } from './support/mcp/python-server.ts';
import {
  type CountingServer,
  startOldServer,
  startServer,
} from './support/mcp/typescript-servers.ts';

const programs = inject('programs');
const TOOLS = ['search_web', 'search_mail', 'fetch', 'delete'];

interface McpProxy {
  readonly name: string;
  readonly program: ProgramName;
  readonly start: (behind: Behind) => Promise<RunningProxy>;
  /** What the file says of the headers of calls has the body said, too. */
  readonly vouches: boolean;
}

const PROXIES: readonly McpProxy[] = [
  {
    name: 'NGINX',
    program: 'nginx',
    start: (behind) => startNginx({ ...behind, changes: CALL_HEADERS_IN_NGINX }),
    vouches: false,
  },
  { name: 'Caddy', program: 'caddy', start: startCaddy, vouches: false },
  {
    name: 'Envoy over HTTP',
    program: 'envoy',
    start: (behind) => startEnvoy({ ...behind, changes: CALL_HEADERS_IN_ENVOY }),
    vouches: false,
  },
  {
    name: 'Envoy with its filter for MCP',
    program: 'envoy',
    start: startEnvoyForMcp,
    vouches: true,
  },
];

const policiesOf = ({ vouches }: McpProxy, none: string) => `
version: 1
identity: { sources: [ip]${vouches ? ', verified_headers: [mcp-method, mcp-name]' : ''} }
default: { limits: [1000/1h] }
policies:
  - { name: search-tools, match: { path: /mcp, mcp: { method: tools/call, name: search_* } }, limits: [3/1h] }
  - { name: delete-tool, match: { path: /mcp, mcp: { method: tools/call, name: delete } }, limits: [1/1h] }
  - { name: listing, match: { path: /mcp, mcp: { method: tools/list } }, limits: [4/1h] }
  - { name: notices, match: { path: /mcp, mcp: { method: notifications/* } }, limits: [50/1h] }
  - { name: start, match: { path: /mcp, mcp: { method: initialize } }, limits: [60/1h] }
  - { name: older-clients, match: { path: /mcp, mcp: ${none} }, limits: [8/1h] }
  - { name: streams, match: { method: GET, path: /mcp }, limits: [70/1h] }
`;
const NONE = '{ method: none }';

let stack: AsyncDisposableStack;
let gateway: Gateway;
beforeEach(() => {
  stack = new AsyncDisposableStack();
});
afterEach(() => stack.disposeAsync());

async function startBehind(proxy: McpProxy, { port }: CountingServer, none = NONE) {
  const HEADGATE_POLICIES = temporaryFile(stack, policiesOf(proxy, none));
  gateway = stack.use(await startGateway({ HEADGATE_POLICIES, HEADGATE_GRPC_PORT: '0' }));
  const behind = { application: port, headgate: gateway.port, grpc: gateway.grpcPort };
  return stack.use(await proxy.start(behind));
}

const [CURRENT, OLD] = TYPESCRIPT_CLIENTS as [McpClient, McpClient];
const WAIT = /Try again in \d+ seconds\./;
const SEARCHES = ['search_web', 'search_mail', 'search_web', 'search_mail', 'fetch'];
const SEARCHED = [
  'search_web ran',
  'search_mail ran',
  'search_web ran',
  expect.stringMatching(WAIT),
  'fetch ran',
];

describe.each(PROXIES)('$name', (proxy) => {
  const here = test.skipIf(programs[proxy.program] === undefined);

  here('counts the calls of a tool, and no others', async () => {
    const server = stack.use(await startServer(TOOLS));
    const { url } = await startBehind(proxy, server);
    expect(await CURRENT.callTools(url, SEARCHES)).toEqual(SEARCHED);
    const [once, denied] = await CURRENT.callTools(url, ['delete', 'delete']);
    expect(once).toBe('delete ran');
    expect(denied).toContain('"delete-tool"');
    expect(TOOLS.map(server.ran)).toEqual([2, 1, 1, 1]);
  });

  here(
    'counts all that older clients send as none, or each tool if the proxy reads bodies',
    async () => {
      const server = stack.use(await startOldServer(TOOLS));
      const { url } = await startBehind(proxy, server);
      // To connect, such a client sends `initialize`, then a notification and `tools/list`.
      const texts = await OLD.callTools(url, [...SEARCHES, 'fetch']);
      if (proxy.vouches) return expect(texts).toEqual([...SEARCHED, 'fetch ran']);
      expect(texts.slice(0, 5)).toEqual([...SEARCHES.map((name) => `${name} ran`)]);
      expect(texts[5]).toContain('"older-clients"');
    },
  );

  here('counts such a call for the strictest tool, too, with none: strict', async () => {
    const server = stack.use(await startServer(TOOLS));
    const { url } = await startBehind(proxy, server, '{ none: strict }');
    const bare = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'fetch', arguments: {} },
    };
    const charged = (await post(url, bare)).headers['ratelimit-policy']?.toString() ?? '';
    const names = [...charged.matchAll(/"([a-z-]+)"/g)].map(([, name]) => name).sort();
    expect(names).toEqual(
      proxy.vouches ? ['default'] : ['delete-tool', 'older-clients', 'search-tools'],
    );
  });

  here(
    'has own limits for lists, notifications, the start of a connection and streams',
    async () => {
      const server = stack.use(await startOldServer(TOOLS));
      const { url } = await startBehind(proxy, server);
      const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: META };
      const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
      expect(await statuses(5, () => post(url, list, headers))).toEqual([400, 400, 400, 400, 429]);
      const charged = async (method: string, body: object) =>
        (await post(url, { jsonrpc: '2.0', method, ...body }, { ...headers, 'mcp-method': method }))
          .headers['ratelimit-policy'];
      expect(await charged('notifications/cancelled', { params: META })).toContain('"notices"');
      expect(await charged('initialize', { id: 1, params: META })).toContain('"start"');
      const stream = await call(url, '/mcp', { headers: { Accept: 'text/html' } });
      expect(stream.headers['ratelimit-policy']).toContain('"streams"');
    },
  );
});

/** Of a request of revision 2026-07-28. */
const META = {
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'client', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  },
};

function post(url: string, body: object, headers: Readonly<Record<string, string>> = {}) {
  const types = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
  };
  return call(url, '/mcp', {
    method: 'POST',
    headers: { ...types, ...headers },
    body: JSON.stringify(body),
  });
}

/** All others send no headers for now, so the proxy reads their bodies. */
const READING = PROXIES.find(({ vouches }) => vouches) as McpProxy;

describe.skipIf(programs.envoy === undefined)(
  'what a host hands to its model after a denial',
  () => {
    test.each([...TYPESCRIPT_CLIENTS, ...pythonClients(programs)])(
      '$name',
      async ({ callTools, frame }) => {
        const server = stack.use(await startServer(TOOLS));
        const { url } = await startBehind(READING, server);
        const [ran, denied = ''] = await callTools(url, ['delete', 'delete']);
        expect(ran).toBe('delete ran');
        expect(server.ran('delete')).toBe(1);
        if (frame === undefined) {
          expect(denied).toMatch(/^Client error '429 Too Many Requests' for url /);
          return;
        }
        const [before, after] = frame;
        expect(denied.startsWith(before) && denied.endsWith(after)).toBe(true);
        const said = denied.slice(before.length, denied.length - after.length);
        // The one of Python 2 has read the body and says the message alone.
        const message = said.startsWith('{') ? JSON.parse(said).error.message : said;
        expect(message).toMatch(WAIT);
        expect(said).toContain('delete-tool');
      },
    );
  },
);

test.skipIf(programs['python-mcp'] === undefined || programs.caddy === undefined)(
  'a server of the Python SDK has the same limits',
  async () => {
    const server = stack.use(await startPythonServer(programs['python-mcp'] ?? '', TOOLS));
    const { url } = await startBehind(PROXIES[1] as McpProxy, server);
    expect(await CURRENT.callTools(url, SEARCHES)).toEqual(SEARCHED);
  },
);
