/** Policies for MCP calls among the others of a file. */
import { expect, test } from 'vitest';
import { policySetFrom } from '../../../../support/policies.ts';
import { checkRequest } from '../../../../support/requests.ts';

const SET = policySetFrom(`
version: 1
identity: { verified_headers: [mcp-method, mcp-name] }
default: { limits: [1000/1h] }
policies:
  - { name: search, match: { path: /mcp, mcp: { method: tools/call, name: search } }, limits: [5/1min] }
  - { name: bare, match: { path: /mcp, mcp: { method: none } }, limits: [5/1min] }
  - { name: path, match: { path: /mcp }, limits: [50/1min] }
  - { name: tenant-tools, match: { path: "/:tenant/mcp", mcp: { method: tools/call } }, limits: [5/1min] }
  - { name: tenant-bare, match: { path: "/:tenant/mcp", mcp: { method: none } }, limits: [5/1min] }
  - { name: acme, match: { path: /acme/mcp, method: POST }, limits: [5/1min] }
  - { name: host-tools, match: { host: api.test, path: /mcp, mcp: { method: tools/call } }, limits: [5/1min] }
  - { name: host-bare, match: { host: api.test, path: /mcp, mcp: { method: none } }, limits: [5/1min] }
`);
const VERSION = { 'mcp-protocol-version': '2026-07-28' };
const SEARCH = { ...VERSION, 'mcp-method': 'tools/call', 'mcp-name': 'search' };

function policies(parts: Parameters<typeof checkRequest>[0], isTrustedProxy = false) {
  const request = checkRequest({ method: 'POST', target: '/mcp', ...parts });
  return SET.policiesFor(request, { isTrustedProxy }).map(({ name }) => name);
}

test.each([
  ['the tool', {}, SEARCH, ['search']],
  ['another tool', {}, { ...SEARCH, 'mcp-name': 'other' }, ['path']],
  ['another method', {}, { ...VERSION, 'mcp-method': 'tools/list' }, ['path']],
  ['no headers', {}, {}, ['bare']],
  ['a GET', { method: 'GET' }, SEARCH, ['path']],
  ['a DELETE', { method: 'DELETE' }, {}, ['path']],
  ['a parameter in the path', { target: '/other/mcp' }, SEARCH, ['tenant-tools']],
  ['a closer path without MCP', { target: '/acme/mcp' }, SEARCH, ['acme']],
  ['a host', { host: 'api.test' }, SEARCH, ['host-tools']],
  ['another spelling of the path', { target: '//x/..//MCP/' }, SEARCH, ['search']],
  ['malformed headers', {}, { ...SEARCH, 'mcp-name': '=?base64?*?=' }, []],
  ['malformed headers elsewhere', { target: '/x' }, { ...SEARCH, 'mcp-name': ',' }, ['default']],
])('%s', (_, parts, headers, expected) => {
  expect(policies({ ...parts, headers })).toEqual(expected);
});

test('the policies of both readings of a path apply', () => {
  expect(policies({ target: '/x/../mcp', headers: SEARCH })).toContain('search');
  expect(policies({ target: '/acme/../other/mcp', headers: {} })).toContain('tenant-bare');
});

test('headers of an older revision count only if a trusted proxy vouches for them', () => {
  const headers = { ...SEARCH, 'mcp-protocol-version': '2025-11-25' };
  expect(policies({ headers })).toEqual(['bare']);
  expect(policies({ headers }, true)).toEqual(['search']);
});

test('a denial on a path with such policies is an error of JSON-RPC, whichever policy denies', () => {
  const bodyOf = (target: string, name: string) =>
    SET.answersFor(
      checkRequest({ method: 'GET', target }),
      SET.policies.filter((policy) => policy.name === name),
    )?.body;
  expect(bodyOf('/mcp', 'search')).toBe('json-rpc');
  expect(bodyOf('/MCP/', 'default')).toBe('json-rpc');
  expect(bodyOf('/x', 'default')).toBeUndefined();
});
