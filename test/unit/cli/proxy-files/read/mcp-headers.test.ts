/** What `headgate doctor` says of the headers of MCP calls, and what `headgate proxy-config` does with them. */
import { describe, expect, test } from 'vitest';
import { PROXIES } from '../../../../../src/cli/proxy-files/print/proxy-config.ts';
import { examineProxyFile } from '../../../../../src/cli/proxy-files/read/examine-files.ts';
import { readEnvironment } from '../../../../../src/gateway/config/settings/environment.ts';
import { proxyConfigOf, validFile } from '../../../../support/proxy-config.ts';

const file = (identity: string, call = ', name: search_*') => `version: 1
identity: { sources: [ip]${identity} }
default: { limits: [9/1h] }
policies:
  - { name: tool, match: { path: /mcp, mcp: { method: tools/call${call} } }, limits: [9/1h] }
  - { name: rest, match: { path: /mcp, mcp: { method: none } }, limits: [9/1h] }
`;
const MCP = file('');
const VOUCHED = file(', verified_headers: [mcp-method, mcp-name]');
const NO_MCP = 'version: 1\nidentity: { sources: [ip] }\ndefault: { limits: [9/1h] }\n';
const HEADERS = ['mcp-method', 'mcp-name', 'mcp-protocol-version'];

async function complaints(text: string, policies: string): Promise<string[]> {
  const found = await examineProxyFile({
    ...{ file: 'file', path: 'file', text, policies: validFile(policies) },
    settings: readEnvironment({ HEADGATE_GRPC_PORT: '8081' }),
    isAccepted: async () => true,
  });
  return found
    .filter(({ rule }) => /header/.test(rule))
    .map(({ rule, message }) => `${rule}: ${message}`);
}

describe.each(PROXIES)('the file of %s', (proxy) => {
  test('passes the three headers on', async () => {
    const printed = proxyConfigOf(proxy, MCP);
    // Caddy passes on all headers.
    if (proxy !== 'caddy')
      for (const name of HEADERS) expect(printed.toLowerCase()).toContain(name);
    expect(await complaints(printed, MCP)).toEqual([]);
  });

  test('for other policies lacks them', async () => {
    const printed = proxyConfigOf(proxy, NO_MCP);
    expect(printed.toLowerCase()).not.toContain('mcp-');
    const missing = HEADERS.map(
      (name) => `mcp-header-not-passed: ${proxy} does not pass ${name} on to headgate`,
    );
    expect(await complaints(printed, MCP)).toEqual(proxy === 'caddy' ? [] : missing);
    const ofMethods = file('', '');
    expect(await complaints(proxyConfigOf(proxy, ofMethods), ofMethods)).toEqual([]);
  });

  test('does not pass on headers that the policy file takes for compared', async () => {
    const printed = proxyConfigOf(proxy, VOUCHED);
    const isPassed = /^(?! *#).*(\$http_mcp_method|- mcp-method|exact: mcp-method)/im;
    expect(printed).not.toMatch(isPassed);
    const word = proxy.startsWith('envoy')
      ? /must compare mcp-method/
      : /must set mcp-method itself/i;
    expect(printed).toMatch(word);
    const passing = await complaints(proxyConfigOf(proxy, MCP), VOUCHED);
    expect(passing).toEqual(
      HEADERS.slice(0, 2).map(
        (name) => `mcp-header-not-compared: ${proxy} does not compare ${name} with the body`,
      ),
    );
  });
});

test.each([
  ['VERIFY', 0],
  ['BODY', 2],
])('Envoy compares them with a filter before the check, in the mode %s', async (mode, found) => {
  const type = 'type.googleapis.com/envoy.extensions.filters.http.mcp.v3.Mcp';
  const filter = { name: 'mcp', typed_config: { '@type': type, attribute_source: mode } };
  const check = '- name: headgate.ext_authz\n';
  const text = proxyConfigOf('envoy', MCP).replace(
    check,
    `- ${JSON.stringify(filter)}\n                  ${check}`,
  );
  expect(await complaints(text, VOUCHED)).toHaveLength(found);
});
