/** What `headgate doctor` says of the headers of MCP calls, and what `headgate proxy-config` does with them. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { PROXIES } from '../../../../../src/cli/proxy-files/print/proxy-config.ts';
import { examineProxyFile } from '../../../../../src/cli/proxy-files/read/examine-files.ts';
import { readEnvironment } from '../../../../../src/gateway/config/settings/environment.ts';
import { proxyConfigOf, validFile } from '../../../../support/proxy-config.ts';

const DEPLOY = new URL('../../../../../deploy/', import.meta.url);

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
      ? /Only with all parts of deploy\/envoy\/mcp\.yaml .*, mcp-method says what the body says/
      : /must set mcp-method itself/i;
    expect(printed).toMatch(word);
    const passing = await complaints(proxyConfigOf(proxy, MCP), VOUCHED);
    expect(passing).toEqual(
      HEADERS.slice(0, 2).map(
        (name) => `mcp-header-not-compared: ${name} may differ from what the body says`,
      ),
    );
  });
});

describe('Envoy compares them', () => {
  const SHIPPED = readFileSync(new URL('envoy/mcp.yaml', DEPLOY), 'utf8');
  const NOT_COMPARED = ['mcp-method', 'mcp-name'].map(
    (name) => `mcp-header-not-compared: ${name} may differ from what the body says`,
  );
  const changed = (from: string | RegExp, to: string) => {
    const text = SHIPPED.replace(from, to);
    expect(text).not.toBe(SHIPPED);
    return text;
  };
  /** The routes of the host, with one more at their start. */
  const withRoute = (settings: string) =>
    changed(
      / {24}# mcp: The path/,
      `                        - match: { prefix: /other }\n                          route: { cluster: application }\n                          typed_per_filter_config: ${settings}\n$&`,
    );
  const OFF = '{ "@type": type.googleapis.com/envoy.config.route.v3.FilterConfig, disabled: true }';
  const override = (mode: string) =>
    `{ "@type": type.googleapis.com/envoy.extensions.filters.http.mcp.v3.McpOverride, traffic_mode: ${mode} }`;

  test.each([
    ['in the file for MCP', SHIPPED],
    [
      'at another path, with another size',
      changed('path: /mcp,', 'path: /tools,').replace('1048576', '9'),
    ],
    [
      'at a second path',
      withRoute(`{ headgate.mcp_headers: ${OFF}, headgate.mcp: ${override('REJECT_NO_MCP')} }`),
    ],
    ['beside settings of other filters', withRoute(`{ headgate.ext_authz: ${OFF} }`)],
  ])('%s', async (_, text) => {
    expect(await complaints(text, VOUCHED)).toEqual([]);
  });

  test.each([
    [
      'without the refusal of older revisions',
      changed(/ +- name: headgate.mcp_revision\n +typed[\s\S]*?(?= +# Refuses a call of)/, ''),
    ],
    [
      'with several revisions',
      changed(/ +- name: headgate.one_mcp_revision\n[\s\S]*?(?= +# In other revisions)/, ''),
    ],
    ['with another revision', changed('exact: "2026-07-28"', 'exact: "2025-11-25"')],
    ['in another mode', changed('attribute_source: VERIFY', 'attribute_source: BODY')],
    [
      'without a mode that refuses',
      changed('traffic_mode: REJECT_NO_MCP', 'traffic_mode: PASS_THROUGH'),
    ],
    [
      'with a filter that is off',
      changed(
        '- name: headgate.mcp\n',
        '- name: headgate.mcp\n                    disabled: true\n',
      ),
    ],
    ['where a route lets headers pass', withRoute(`{ headgate.mcp_headers: ${OFF} }`)],
    ['where a route switches the filter off', withRoute(`{ headgate.mcp: ${OFF} }`)],
    [
      'where a route passes all through',
      withRoute(`{ headgate.mcp_headers: ${OFF}, headgate.mcp: ${override('PASS_THROUGH')} }`),
    ],
    [
      'with routes from elsewhere',
      changed(
        / +route_config:[\s\S]*?(?= +http_filters:)/,
        '                rds: { route_config_name: a, config_source: { ads: {} } }\n',
      ),
    ],
  ])('not %s', async (_, text) => {
    expect(await complaints(text, VOUCHED)).toEqual(NOT_COMPARED);
  });

  test('not by its filter alone', async () => {
    const type = 'type.googleapis.com/envoy.extensions.filters.http.mcp.v3.Mcp';
    const filter = {
      name: 'mcp',
      typed_config: { '@type': type, attribute_source: 'VERIFY', traffic_mode: 'REJECT_NO_MCP' },
    };
    const check = '- name: headgate.ext_authz\n';
    const text = proxyConfigOf('envoy', MCP).replace(
      check,
      `- ${JSON.stringify(filter)}\n                  ${check}`,
    );
    expect(await complaints(text, VOUCHED)).toEqual(NOT_COMPARED);
  });

  test('not where it removes them, if a route switches that off', async () => {
    const remove = `- name: own\n                    typed_config: { "@type": type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutation, mutations: { request_mutations: [{ remove: mcp-method }, { remove: mcp-name }] } }\n                  `;
    const check = '- name: headgate.ext_authz\n';
    const removing = proxyConfigOf('envoy-grpc', MCP).replace(check, remove + check);
    expect(await complaints(removing, VOUCHED)).toEqual([]);
    const route = ' {24}- match: { prefix: / }';
    const off = removing.replace(
      new RegExp(route),
      `                        - match: { prefix: /a }\n                          route: { cluster: application }\n                          typed_per_filter_config: { own: ${OFF} }\n$&`,
    );
    expect(off).not.toBe(removing);
    expect(await complaints(off, VOUCHED)).toEqual(NOT_COMPARED);
  });
});
