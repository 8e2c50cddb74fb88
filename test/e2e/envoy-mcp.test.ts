/** deploy/envoy/mcp.yaml: what Envoy refuses itself, so that the headers that headgate gets say what the body says. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { type RunningProxy, startEnvoyForMcp } from '../support/proxies.ts';
import { proxyConfigOf } from '../support/proxy-config.ts';
import { temporaryFile } from '../support/temporary.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

const SHIPPED = readFileSync(new URL('../../deploy/envoy/mcp.yaml', import.meta.url), 'utf8');
const ADDED = /^ *# mcp: (?!end$)[\s\S]*?# mcp: end\n/gm;
const BASE = `
version: 1
identity: { sources: [api_key, ip], api_key: { header: authorization } }
default: { limits: [600/1min] }
`;
const POLICIES = `${BASE.replace('{ sources', '{ verified_headers: [mcp-method, mcp-name], sources')}policies:
  - { name: calls, match: { path: /mcp, mcp: { method: tools/call, name: seek } }, limits: [1000/1h] }
  - { name: bare, match: { path: /mcp, mcp: { method: none } }, limits: [1000/1h] }
`;

test('it is what headgate proxy-config prints, with what it adds between marks', () => {
  expect(SHIPPED.match(ADDED)?.length).toBeGreaterThan(4);
  expect(parse(SHIPPED.replace(ADDED, ''))).toEqual(parse(proxyConfigOf('envoy-grpc', BASE)));
});

describe.skipIf(inject('programs').envoy === undefined)('through Envoy', () => {
  const stack = new AsyncDisposableStack();
  let upstream: Upstream;
  let proxy: RunningProxy;
  beforeAll(async () => {
    upstream = stack.use(await startUpstream());
    const HEADGATE_POLICIES = temporaryFile(stack, POLICIES);
    const gateway = stack.use(await startGateway({ HEADGATE_POLICIES, HEADGATE_GRPC_PORT: '0' }));
    const { port: headgate, grpcPort: grpc } = gateway;
    proxy = stack.use(await startEnvoyForMcp({ application: upstream.port, headgate, grpc }));
  });
  afterAll(() => stack.disposeAsync());

  const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'seek' } };
  const post = (body: object | string, headers = {}, path = '/mcp') =>
    call(proxy.url, path, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });

  const LARGEST = 1_048_576;
  const ofSize = (bytes: number) => {
    const padded = (padding: string) => JSON.stringify({ ...CALL, padding });
    return padded('x'.repeat(bytes - padded('').length));
  };

  test('a call of 1 MiB passes', async () => {
    const { status, headers } = await post(ofSize(LARGEST));
    expect([status, headers['ratelimit-policy']]).toEqual([
      200,
      expect.stringContaining('"calls"'),
    ]);
  });

  test('a call without headers gets those of its body', async () => {
    const { status, headers } = await post(CALL);
    expect([status, headers['ratelimit-policy']]).toEqual([
      200,
      expect.stringContaining('"calls"'),
    ]);
    expect(upstream.seen.at(-1)?.headers).toMatchObject({
      'mcp-method': 'tools/call',
      'mcp-name': 'seek',
    });
  });

  test.each([
    ['a name with a line break', { ...CALL, params: { name: 'seek\r\nX-Own: 1' } }],
    ['a name that looks encoded', { ...CALL, params: { name: '=?base64?c2Vlaw==?=' } }],
    ['a name with a comma', { ...CALL, params: { name: 'seek,fetch' } }],
    ['a name that is no text', { ...CALL, params: { name: 1 } }],
    ['an answer to the server', { jsonrpc: '2.0', id: 1, result: {} }],
  ])('%s gives no header', async (_, body) => {
    const { status, headers } = await post(body);
    expect([status, headers['ratelimit-policy']]).toEqual([200, expect.stringContaining('"bare"')]);
    expect(upstream.seen.at(-1)?.headers).not.toHaveProperty('mcp-name');
    expect(upstream.seen.at(-1)?.headers).not.toHaveProperty('x-own');
  });

  test.each([
    ['with headers in an older revision', CALL, { 'Mcp-Method': 'tools/list' }],
    [
      'whose body says something else',
      CALL,
      { 'Mcp-Method': 'tools/list', 'MCP-Protocol-Version': '2026-07-28' },
    ],
    ['of several messages', [CALL, CALL], {}],
    ['of another type', CALL, { 'Content-Type': 'Application/JSON' }],
    // Envoy has read all of it when it refuses it, so it does not cut the client off.
    ['of one byte more than 1 MiB', ofSize(LARGEST + 1), {}],
  ])('refuses a call %s', async (_, body, headers) => {
    const before = upstream.seen.length;
    expect((await post(body, headers)).status).toBe(400);
    expect(upstream.seen.length).toBe(before);
  });

  test('names the revision that it knows', async () => {
    const headers = { 'Mcp-Method': 'tools/call', 'MCP-Protocol-Version': '2027-01-01' };
    const { error } = JSON.parse((await post(CALL, headers)).body);
    const data = { supported: ['2026-07-28'], requested: '2027-01-01' };
    expect(error).toMatchObject({ code: -32_022, data });
  });

  test('other paths keep their bodies and lose the headers', async () => {
    const registration = { client_name: 'client' };
    const headers = { 'Mcp-Method': 'tools/call', 'Mcp-Name': 'seek' };
    expect((await post(registration, headers, '/register')).status).toBe(200);
    expect(upstream.seen.at(-1)?.headers).not.toHaveProperty('mcp-method');
    const spelled = await post(CALL, headers, '//mcp');
    expect(spelled.headers['ratelimit-policy']).toContain('"bare"');
  });
});
