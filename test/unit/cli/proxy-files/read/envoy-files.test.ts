/** What `headgate doctor` says about files of Envoy. */
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { readEnvoy } from '../../../../../src/cli/proxy-files/read/envoy/reader.ts';
import { examineProxyFile } from '../../../../../src/cli/proxy-files/read/examine-files.ts';
import { proxyConfigOf, validFile } from '../../../../support/proxy-config.ts';

const POLICIES = `version: 1
identity: { sources: [ip], trusted_proxies: [loopback] }
default: { limits: [100/1min] }
policies:
  - name: login
    match: { method: POST, path: /login }
    limits: [5/5min]
    on_gateway_failure: deny
`;
const SETTINGS = {
  host: '127.0.0.1',
  port: 8080,
  socket: undefined,
  grpcPort: 8081,
  proxySecrets: [],
};
const MODES = ['envoy', 'envoy-grpc'] as const;

/** Each finding as its id, the line that it names, and its problem. */
async function findingsIn(text: string): Promise<string[]> {
  const findings = await examineProxyFile({
    file: 'envoy.yaml',
    path: '/nowhere/envoy.yaml',
    text,
    policies: validFile(POLICIES),
    settings: SETTINGS,
    isAccepted: async () => true,
  });
  return findings.map(({ rule, file, message }) => {
    const line = Number(/^envoy\.yaml:(\d+)$/.exec(file)?.[1]);
    return `${rule}: ${text.split('\n')[line - 1]?.trim() ?? ''}: ${message}`;
  });
}

/** The printed file with other texts. */
function changed(mode: string, changes: Readonly<Record<string, string>>): string {
  let text = proxyConfigOf(mode, POLICIES);
  for (const [from, to] of Object.entries(changes)) {
    if (!text.includes(from)) throw new Error(`the file of ${mode} must have "${from}"`);
    text = text.replace(from, to);
  }
  return text;
}

const FITS = [expect.stringMatching(/^proxy-file: /)];
const AUTHZ = 'type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3';
const HCM =
  'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';
const ROUTER =
  '{ name: envoy.filters.http.router, typed_config: { "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router } }';
const OFF = `typed_per_filter_config: { headgate.ext_authz: { "@type": ${AUTHZ}.ExtAuthzPerRoute, disabled: true } }`;
const ROUTES = '                      routes:\n';
const VERSION = 'transport_api_version: V3\n';
const MANAGER = '                use_remote_address: true\n';

/** A route before the others. */
const withRoute = (route: string) => ({
  [ROUTES]: `${ROUTES}                        - ${route}\n`,
});
const inFilter = (line: string) => ({ [VERSION]: `${VERSION}                      ${line}\n` });
const inManager = (line: string) => ({ [MANAGER]: `${MANAGER}                ${line}\n` });

/** A second listener on another port, without the check. */
function withListener(routes: string, more = ''): Record<string, string> {
  return {
    '  listeners:\n': `  listeners:
    - name: second
      address: { socket_address: { address: 0.0.0.0, port_value: 8443 } }
      ${more}
      filter_chains:
        - filters:
            - name: hcm
              typed_config:
                "@type": ${HCM}
                stat_prefix: second
                http_filters: [${ROUTER}]
                route_config: { virtual_hosts: [{ name: all, domains: ["*"], routes: [${routes}] }] }
`,
  };
}
const TO_APPLICATION = '{ match: { prefix: / }, route: { cluster: application } }';

describe.each(MODES)('of %s', (mode) => {
  const say = (changes: Readonly<Record<string, string>>) => findingsIn(changed(mode, changes));

  test('that are printed fit', async () => {
    expect(await say({})).toEqual(FITS);
  });

  test('with an upgrade whose filters lack the check', async () => {
    const upgrades = '[{ upgrade_type: websocket }]';
    const own = (filters: string) =>
      say({ [upgrades]: `[{ upgrade_type: websocket, filters: [${filters}] }]` });
    expect(await own(ROUTER)).toEqual([
      expect.stringMatching(
        /^upstream-unchecked: upgrade_configs: .*: the upgrade websocket passes requests to 127.0.0.1:3000 without asking headgate; the route for \//,
      ),
    ]);
    const check =
      mode === 'envoy'
        ? 'http_service: { server_uri: { uri: http://headgate, cluster: headgate, timeout: 0.2s } }'
        : 'grpc_service: { envoy_grpc: { cluster_name: headgate } }';
    const asks = `{ name: headgate.ext_authz, typed_config: { "@type": ${AUTHZ}.ExtAuthz, ${check} } }, ${ROUTER}`;
    expect(await own(asks)).toEqual(FITS);
    expect(await say({ [upgrades]: '[{ upgrade_type: CONNECT }]' })).toEqual([
      expect.stringContaining('the upgrade CONNECT passes requests to 127.0.0.1:3000'),
    ]);
    expect(await say({ [upgrades]: '[{ upgrade_type: CONNECT, enabled: false }]' })).toEqual(FITS);
    const ofRoute =
      '{ match: { connect_matcher: {} }, route: { cluster: application, upgrade_configs: [{ upgrade_type: CONNECT, connect_config: {} }] } }';
    expect(await say(withRoute(ofRoute))).toEqual([
      expect.stringContaining('the upgrade CONNECT passes requests to 127.0.0.1:3000'),
    ]);
  });

  test('with a second listener, chain, proxy of TCP or cluster for the same application', async () => {
    expect(await say(withListener(TO_APPLICATION))).toEqual([
      expect.stringContaining('the listener second passes requests to 127.0.0.1:3000 without'),
    ]);
    const weighted =
      '{ match: { prefix: / }, route: { weighted_clusters: { clusters: [{ name: application, weight: 1 }] } } }';
    expect(await say(withListener(weighted))).toEqual([
      expect.stringContaining('the listener second passes requests to 127.0.0.1:3000 without'),
    ]);
    const tcp = `filter_chains: [{ filters: [{ name: tcp, typed_config: { "@type": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy, stat_prefix: raw, cluster: application } }] }]`;
    expect(await say({ '  listeners:\n': `  listeners:\n    - { name: raw, ${tcp} }\n` })).toEqual([
      expect.stringContaining('the TCP proxy raw passes requests to 127.0.0.1:3000'),
    ]);
    const twin = `    - name: twin
      load_assignment: { cluster_name: twin, endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: localhost, port_value: 3000 } } } }] }] }
`;
    const toTwin = withListener(TO_APPLICATION.replace('application', 'twin'));
    expect(await say({ ...toTwin, '  clusters:\n': `  clusters:\n${twin}` })).toEqual([
      expect.stringContaining('the listener second passes requests to 127.0.0.1:3000'),
    ]);
  });

  test('with a way to another application, or none', async () => {
    const other = TO_APPLICATION.replace('application', 'other');
    for (const changes of [
      withListener(other),
      withListener('{ match: { prefix: / }, redirect: { https_redirect: true } }'),
      withListener('{ match: { prefix: / }, direct_response: { status: 200 } }'),
      withListener(TO_APPLICATION, 'internal_listener: {}'),
      withListener(TO_APPLICATION.replace('application', 'headgate')),
      withRoute(
        '{ match: { prefix: /x }, route: { cluster: other, request_mirror_policies: [{ cluster: application }] } }',
      ),
    ])
      expect(await say(changes)).toEqual(FITS);
  });

  test('with a virtual host, route configuration or weighted cluster without the check', async () => {
    const unchecked = expect.arrayContaining([
      expect.stringMatching(/^(upstream|limited-path)-unchecked: /),
    ]);
    const host = `                    - { name: second, domains: [b.example], ${OFF}, routes: [${TO_APPLICATION}] }\n`;
    const hosts = '                  virtual_hosts:\n';
    expect(await say({ [hosts]: hosts + host })).toEqual(unchecked);
    const filterConfig = OFF.replace(
      /\{ "@type".*disabled: true \}/,
      '{ "@type": type.googleapis.com/envoy.config.route.v3.FilterConfig, disabled: true }',
    );
    expect(await say({ [hosts]: hosts + host.replace(OFF, filterConfig) })).toEqual(unchecked);
    const weighted = `{ match: { prefix: /w }, route: { weighted_clusters: { clusters: [{ name: application, weight: 1, ${OFF} }] } } }`;
    expect(await say(withRoute(weighted))).toEqual(unchecked);
    expect(
      await say(
        withRoute(
          `{ match: { prefix: /, headers: [{ name: x-internal, present_match: true }] }, route: { cluster: application }, ${OFF} }`,
        ),
      ),
    ).toEqual(unchecked);
  });

  test('that check only a part of the requests', async () => {
    const share = (numerator: number, more = '') =>
      say(
        inFilter(
          `filter_enabled: { default_value: { numerator: ${numerator}${more} }, runtime_key: a }`,
        ),
      );
    expect(await share(50)).toEqual([
      'check-not-enforced: - name: headgate.ext_authz: headgate.ext_authz checks 50 % of the requests (filter_enabled); the others pass without a check',
    ]);
    expect(await share(100, ', denominator: TEN_THOUSAND')).toEqual([
      expect.stringContaining('checks 1 % of the requests'),
    ]);
    expect(await share(100)).toEqual(FITS);
    expect(await share(1_000_000, ', denominator: MILLION')).toEqual(FITS);
    const off = [expect.stringMatching(/^check-not-enforced: /)];
    expect(await say(inFilter('shadow_mode: true'))).toEqual(off);
    expect(await say(inFilter('filter_enabled_metadata: { filter: a }'))).toEqual(off);
    const filter = '- name: headgate.ext_authz\n';
    expect(
      (await say({ [filter]: `${filter}                    disabled: true\n` })).at(0),
    ).toMatch(mode === 'envoy' ? /^check-not-enforced: / : /^proxy-file: /);
  });

  test('with a check that is disabled for every route', async () => {
    const routes = '                route_config:\n';
    const found = await say({ [routes]: `${routes}                  ${OFF}\n` });
    // Over gRPC, the printed virtual host has its own setting.
    if (mode === 'envoy-grpc') expect(found).toEqual(FITS);
    else expect(found).toContainEqual(expect.stringMatching(/^check-not-enforced: .*every route/));
  });

  test.each([
    ['0s', /means no timeout since Envoy 1\.38/],
    ['0.02s', /is shorter than headgate may take/],
    ['600s', /is how long each request waits/],
  ])('with the timeout %s', async (timeout, problem) => {
    const found = await say({ 'timeout: 0.2s': `timeout: ${timeout}` });
    expect(found).toEqual([expect.stringMatching(/^check-timeout: /)]);
    expect(found[0]).toMatch(problem);
  });

  test('that let clients choose the request id', async () => {
    const ids = [expect.stringMatching(/^request-id-from-client: /)];
    expect(await say(inManager('preserve_external_request_id: true'))).toEqual(ids);
    expect(await say({ 'use_remote_address: true': 'use_remote_address: false' })).toEqual(ids);
    expect(await say({ 'internal_address_config: {': 'internal_address_config: {} #{' })).toEqual(
      ids,
    );
    const line =
      mode === 'envoy' ? '- { key: x-headgate-request-id' : '  request_id: x-request-id\n';
    expect(
      await say({
        ...inManager('preserve_external_request_id: true'),
        [line]: line.replace(/(?=\S)/, '#'),
      }),
    ).toEqual(FITS);
  });

  test('with a route whose prefix decides about the check', async () => {
    const files = (match: string) =>
      withRoute(`{ match: { ${match} }, route: { cluster: application }, ${OFF} }`);
    expect(await say(files('prefix: /files/'))).toEqual([
      expect.stringMatching(/^spelling-skips-check: .*the route for \/files\/ is not checked/),
    ]);
    for (const match of ['path: /healthz', 'path: /, case_sensitive: true'])
      expect(await say(files(match))).toEqual(FITS);
    const normalized = inManager(
      'normalize_path: true\n                path_with_escaped_slashes_action: UNESCAPE_AND_REDIRECT',
    );
    expect(await say({ ...files('prefix: /files/'), ...normalized })).toEqual(FITS);
    const half = inManager('normalize_path: true');
    expect(await say({ ...files('prefix: /files/'), ...half })).toHaveLength(1);
  });

  test('with a setting for a name that no filter has, or two have', async () => {
    const route = (name: string) =>
      withRoute(
        `{ match: { path: /a }, route: { cluster: application }, ${OFF.replace('headgate.ext_authz', name)} }`,
      );
    expect(await say(route('envoy.filters.http.ext_authz'))).toEqual([
      expect.stringMatching(
        /^setting-without-filter: .*no filter has the name envoy.filters.http.ext_authz$/,
      ),
    ]);
    const filters = '                http_filters:\n';
    const sso = (name: string) =>
      `                  - { name: ${name}, typed_config: { "@type": ${AUTHZ}.ExtAuthz, grpc_service: { envoy_grpc: { cluster_name: sso } } } }\n`;
    const twice = { [filters]: filters + sso('headgate.ext_authz') };
    expect(await say({ ...route('headgate.ext_authz'), ...twice })).toContainEqual(
      expect.stringMatching(/^shared-filter-name: /),
    );
    const own = { [filters]: filters + sso('envoy.filters.http.ext_authz') };
    expect(await say({ ...route('envoy.filters.http.ext_authz'), ...own })).toEqual(FITS);
  });

  test('with a service of a route', async () => {
    const route = `{ match: { path: /a }, route: { cluster: application }, typed_per_filter_config: { headgate.ext_authz: { "@type": ${AUTHZ}.ExtAuthzPerRoute, check_settings: { grpc_service: { envoy_grpc: { cluster_name: other } } } } } }`;
    expect(await say(withRoute(route))).toEqual([
      expect.stringMatching(/^service-of-route: /),
      ...FITS,
    ]);
  });

  test('that change the path after the check', async () => {
    const rewrite = (match: string, how: string, more = '') =>
      say(withRoute(`{ match: { ${match} }, route: { cluster: application, ${how} }${more} }`));
    const avoided = [expect.stringMatching(/^path-rewritten: .* so policy login can be avoided$/)];
    expect(await rewrite('prefix: /old/', 'prefix_rewrite: /')).toEqual(avoided);
    expect(await rewrite('path: /enter', 'prefix_rewrite: /login')).toEqual(avoided);
    const regex = (pattern: string, substitution: string) =>
      `regex_rewrite: { pattern: { regex: "${pattern}" }, substitution: '${substitution}' }`;
    expect(await rewrite('prefix: /v1/', regex('^/v1/(.*)', '/\\1'))).toEqual(avoided);
    expect(
      await rewrite(
        'path_match_policy: { name: a, typed_config: { path_template: "/{x}/in" } }',
        'path_rewrite_policy: { name: a, typed_config: { path_template_rewrite: "/login" } }',
      ),
    ).toEqual(avoided);
    for (const [match, how] of [
      ['prefix: /login', 'prefix_rewrite: /auth/login'],
      ['prefix: /old/', 'prefix_rewrite: /new/'],
      ['prefix: /old/', 'host_rewrite_literal: b.example'],
      ['prefix: /', 'prefix_rewrite: /'],
    ] as const)
      expect(await rewrite(match, how)).toEqual(FITS);
    expect(await rewrite('prefix: /', 'internal_redirect_policy: {}')).toEqual(avoided);
    const named = `, typed_per_filter_config: { headgate.ext_authz: { "@type": ${AUTHZ}.ExtAuthzPerRoute, check_settings: { context_extensions: { policy: login } } } }`;
    expect(await rewrite('path: /enter', 'prefix_rewrite: /login', named)).toEqual(FITS);
  });
});

describe('of Envoy', () => {
  test('in JSON, with the other names of fields, are read alike', async () => {
    const text = changed('envoy', {
      ...withListener(TO_APPLICATION),
      ...inFilter('filter_enabled: { default_value: { numerator: 50 } }'),
    });
    const json = JSON.stringify(parse(text), null, 1);
    const camel = json.replaceAll(
      /"([a-z]+(?:_[a-z0-9]+)+)":/g,
      (_, name: string) =>
        `"${name.replaceAll(/_(.)/g, (__, letter: string) => letter.toUpperCase())}":`,
    );
    expect(camel).toContain('"httpFilters":');
    for (const each of [text, json, camel, JSON.stringify(parse(text))]) {
      const ids = (await findingsIn(each)).map((finding) => finding.slice(0, finding.indexOf(':')));
      expect(ids.sort()).toEqual(['check-not-enforced', 'upstream-unchecked']);
    }
  });

  test.each(MODES)(
    'that a tool wrote again, without comments, fit as before with %s',
    async (mode) => {
      const file = parse(proxyConfigOf(mode, POLICIES));
      for (const options of [{}, { sortMapEntries: true, lineWidth: 0 }])
        expect(await findingsIn(stringify(file, options))).toEqual(FITS);
      const reflowed = proxyConfigOf(mode, POLICIES).replaceAll('[{', '[ {');
      expect(await findingsIn(reflowed)).toEqual(FITS);
      const other = proxyConfigOf(mode, POLICIES.replace('/login', '/session'));
      const without = proxyConfigOf(mode, POLICIES).replaceAll('gateway_unavailable:', 'other:');
      for (const [text, problem] of [
        [other, 'refuses other routes'],
        [without, 'has no part that refuses routes'],
      ] as const)
        for (const each of [stringify(parse(text)), JSON.stringify(parse(text))])
          expect(await findingsIn(each)).toEqual([
            expect.stringMatching(`^other-failure-routes: .*${problem}`),
          ]);
    },
  );

  test('with aliases are read as what the aliases name', async () => {
    const shared = changed('envoy', { 'route_config:\n': 'route_config: &routes\n' });
    const listener = `    - name: aliased
      filter_chains: [{ filters: [{ name: hcm, typed_config: { "@type": ${HCM}, http_filters: [${ROUTER}], route_config: *routes } }] }]
`;
    const text = shared.replace('\n  clusters:\n', `${listener}\n  clusters:\n`);
    expect(await findingsIn(text)).toEqual([
      expect.stringContaining('the listener aliased passes requests to 127.0.0.1:3000 without'),
    ]);
  });

  test('may repeat one value in many clusters', async () => {
    const clusters = Array.from(
      { length: 300 },
      (_, i) =>
        `    - { name: other_${i}, dns_lookup_family: ${i === 0 ? '&family V4_ONLY' : '*family'} }\n`,
    );
    const text = changed('envoy', { '\n  clusters:\n': `\n  clusters:\n${clusters.join('')}` });
    expect(await findingsIn(text)).toEqual(FITS);
  });

  test('that become huge by aliases are refused', async () => {
    const levels = Array.from({ length: 12 }, (_, i) => {
      const inner = i === 0 ? 'x' : `*level${i - 1}`;
      return `  - &level${i} [${Array.from({ length: 9 }, () => inner).join(', ')}]\n`;
    });
    const text = `${changed('envoy', {})}\nlevels:\n${levels.join('')}`;
    expect(await findingsIn(text)).toEqual([
      expect.stringContaining('unreadable-proxy-file: : Excessive alias count'),
    ]);
  });

  test('with routes from elsewhere say nothing about them', async () => {
    const text = changed('envoy', withListener(TO_APPLICATION)).replace(
      /^ {16}route_config:\n {18}virtual_hosts:\n[\s\S]*?(?= {16}http_filters:)/m,
      '                rds: { route_config_name: all, config_source: { ads: {} } }\n',
    );
    expect(text).toContain('rds:');
    expect(await findingsIn(text)).toEqual(FITS);
  });

  test('with a matcher or a composite filter around the check say so', async () => {
    const text = changed('envoy', {});
    const filter = text.slice(
      text.indexOf('                  - name: headgate.ext_authz\n'),
      text.indexOf('                  # Refuses some requests that ext_authz let through'),
    );
    const config = filter.slice(filter.indexOf('typed_config:\n') + 'typed_config:\n'.length);
    const matching = (inner: string) => `                  - name: headgate.ext_authz
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.common.matching.v3.ExtensionWithMatcher
${inner}`;
    const direct = matching(`                      extension_config:
                        name: headgate.ext_authz
                        typed_config:
${config.replaceAll(/^/gm, '    ')}
`);
    const composite = matching(`                      extension_config:
                        name: composite
                        typed_config: { "@type": type.googleapis.com/envoy.extensions.filters.http.composite.v3.Composite }
                      xds_matcher:
                        on_no_match:
                          action:
                            name: check
                            typed_config:
                              "@type": type.googleapis.com/envoy.extensions.filters.http.composite.v3.ExecuteFilterAction
                              typed_config:
                                name: headgate.ext_authz
                                typed_config:
${config.replaceAll(/^/gm, '            ')}
`);
    for (const wrapped of [direct, composite])
      expect(await findingsIn(text.replace(filter, wrapped))).toEqual([
        expect.stringContaining('a matcher decides which requests headgate.ext_authz checks'),
      ]);
  });

  test('with names of filters in another form are read as they are', async () => {
    const route = `{ match: { path: /a }, route: { cluster: application }, ${OFF.replace('headgate.ext_authz', 'headgateCheck')} }`;
    const text = changed('envoy', {
      ...withRoute(route),
      '- name: headgate.ext_authz': '- name: headgateCheck',
    });
    expect(await findingsIn(text)).toEqual(FITS);
  });

  test('with several services take the one of headgate', () => {
    const text = changed('envoy', {
      '                http_filters:\n': `                http_filters:
                  - { name: sso, typed_config: { "@type": ${AUTHZ}.ExtAuthz, failure_mode_allow: false, grpc_service: { envoy_grpc: { cluster_name: sso } } } }
`,
    });
    const facts = { proxy: 'envoy', gateways: ['127.0.0.1:8080'] };
    expect(readEnvoy({ file: 'a', path: 'a', text, policies: undefined })).toMatchObject({ facts });
  });
});
