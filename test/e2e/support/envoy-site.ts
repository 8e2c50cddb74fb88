/** A varied site of Envoy, as it is and with the parts of headgate. */
import { hash } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../support/ports.ts';
import { envoyArguments, patient, type RunningProxy, runProxy } from '../../support/proxies.ts';
import { proxyConfigOf } from '../../support/proxy-config.ts';

export type EnvoyProgram = 'envoy' | 'envoy-oldest';
export type EnvoyMode = 'envoy' | 'envoy-grpc';

interface Guard {
  readonly mode: EnvoyMode;
  readonly policies: string;
  /** Where headgate answers this mode. */
  readonly port: number;
}

export interface EnvoySiteInput {
  readonly program: EnvoyProgram;
  readonly application: number;
  /** Keys of the connection manager, each a line. */
  readonly manager?: readonly string[];
  /** Undefined: the site has no headgate. */
  readonly guard?: Guard | undefined;
}

const TYPE = 'type.googleapis.com/envoy.extensions';
const USER = `user:{SHA}${hash('sha1', 'pw', 'base64')}`;

/** Headers that a filter of the site sets, also with names that no client may send. */
const OWN_HEADERS = ['x-from-site', 'x_user', 'x.dot']
  .map((key) => `{ append: { header: { key: ${key}, value: "yes" } } }`)
  .join(', ');

/** A route with a line for its settings. */
const SITE = `static_resources:
  listeners:
    - name: site
      address: { socket_address: { address: 127.0.0.1, port_value: PORT } }
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": ${TYPE}.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: site
                upgrade_configs: [{ upgrade_type: websocket }]
                strip_any_host_port: true
                delayed_close_timeout: 0.05s
                OWN KEYS
                route_config:
                  response_headers_to_add: [{ header: { key: x-site, value: envoy } }]
                  virtual_hosts:
                    - name: site
                      domains: ["*"]
                      OWN REMOVALS
                      routes:
                        - match: { prefix: /old/ }
                          route: { cluster: application, prefix_rewrite: /new/ }
                        - match: { safe_regex: { regex: "/users/[0-9]+/.*" } }
                          route: { cluster: application, regex_rewrite: { pattern: { regex: "^/users/([0-9]+)" }, substitution: '/by-id/\\1' } }
                        - match: { path: /moved }
                          redirect: { path_redirect: /elsewhere }
                        - match: { path: /health }
                          direct_response: { status: 200, body: { inline_string: well } }
                        - match: { prefix: /gone }
                          route: { cluster: gone }
                        - match: { prefix: /weighted/ }
                          route: { weighted_clusters: { clusters: [{ name: application, weight: 1 }] } }
                        - match: { prefix: /hosted/ }
                          route: { cluster: application, host_rewrite_literal: b.example, timeout: 60s, retry_policy: { retry_on: connect-failure } }
                        - match: { prefix: /private/ }
                          route: { cluster: application }
                          typed_per_filter_config:
                            envoy.filters.http.basic_auth:
                              "@type": ${TYPE}.filters.http.basic_auth.v3.BasicAuthPerRoute
                              users: { inline_string: "${USER}" }
                        - match: { prefix: /forbidden/ }
                          route: { cluster: application }
                          typed_per_filter_config:
                            envoy.filters.http.rbac:
                              "@type": ${TYPE}.filters.http.rbac.v3.RBACPerRoute
                              rbac: { rules: { action: DENY, policies: { all: { permissions: [{ any: true }], principals: [{ any: true }] } } } }
                        - match: { prefix: /marked/ }
                          route: { cluster: application }
                          typed_per_filter_config:
                            envoy.filters.http.header_mutation:
                              "@type": ${TYPE}.filters.http.header_mutation.v3.HeaderMutationPerRoute
                              mutations: { request_mutations: [{ append: { header: { key: x-marked, value: "yes" } } }] }
                        - match: { prefix: /mounted/ }
                          route: { cluster: application, prefix_rewrite: / }
                          request_headers_to_add: [{ header: { key: x-forwarded-prefix, value: /mounted }, append_action: OVERWRITE_IF_EXISTS_OR_ADD }]
                        - match: { prefix: /uploads/ }
                          route: { cluster: application }
                          typed_per_filter_config:
                            envoy.filters.http.buffer:
                              "@type": ${TYPE}.filters.http.buffer.v3.BufferPerRoute
                              buffer: { max_request_bytes: 100000 }
                        - match: { prefix: / }
                          route: { cluster: application }
                http_filters:
                  - { name: envoy.filters.http.buffer, disabled: true, typed_config: { "@type": ${TYPE}.filters.http.buffer.v3.Buffer, max_request_bytes: 1 } }
                  - name: envoy.filters.http.header_mutation
                    typed_config:
                      "@type": ${TYPE}.filters.http.header_mutation.v3.HeaderMutation
                      mutations: { request_mutations: [${OWN_HEADERS}] }
                  - name: envoy.filters.http.cors
                    typed_config: { "@type": ${TYPE}.filters.http.cors.v3.Cors }
                  - name: envoy.filters.http.basic_auth
                    disabled: true
                    typed_config:
                      "@type": ${TYPE}.filters.http.basic_auth.v3.BasicAuth
                      users: { inline_string: "${USER}" }
                  - name: envoy.filters.http.compressor
                    typed_config:
                      "@type": ${TYPE}.filters.http.compressor.v3.Compressor
                      compressor_library:
                        name: gzip
                        typed_config: { "@type": ${TYPE}.compression.gzip.compressor.v3.Gzip }
                  - name: envoy.filters.http.rbac
                    typed_config:
                      "@type": ${TYPE}.filters.http.rbac.v3.RBAC
                  - name: envoy.filters.http.router
                    typed_config: { "@type": ${TYPE}.filters.http.router.v3.Router }
  clusters:
    - name: application
      type: STATIC
      load_assignment:
        cluster_name: application
        endpoints:
          - lb_endpoints: [{ endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: APPLICATION } } } }]
    - name: gone
      type: STATIC
      load_assignment:
        cluster_name: gone
        endpoints:
          - lb_endpoints: [{ endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: 1 } } } }]
`;

const mapper = (from: number, to: number) =>
  `- filter: { status_code_filter: { comparison: { op: EQ, value: { default_value: ${from}, runtime_key: none } } } }
  status_code: ${to}
  headers_to_add: [{ header: { key: x-page, value: forbidden } }]
  body_format_override: { text_format_source: { inline_string: "a page of the site" } }`;
/** The site's own local replies: mappers, and the format of all others. */
const MAPPERS = [mapper(403, 403), mapper(429, 420)].join('\n');
const FORMAT =
  'body_format: { json_format: { site: "%RESPONSE_CODE%", text: "%LOCAL_REPLY_BODY%" } }';
/** The site's own keys of the virtual host. */
const REMOVED = {
  request_headers_to_remove: 'x-secret',
  response_headers_to_remove: 'x-powered-by',
};

export async function startEnvoySite({
  program,
  application,
  manager = [],
  guard,
}: EnvoySiteInput): Promise<RunningProxy> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'headgate-envoy-site-'));
  const file = join(folder, 'envoy.yaml');
  const text = guard === undefined ? plain(manager) : withParts(manager, guard);
  const ports = text.replace('PORT', String(port)).replace('APPLICATION', String(application));
  writeFileSync(file, ports);
  return runProxy(program, envoyArguments(file), port, folder);
}

function plain(manager: readonly string[]): string {
  const replies = ['local_reply_config:', `  ${FORMAT}`, '  mappers:', ...nested(MAPPERS, 4)];
  const keys = [...manager, ...replies];
  const removals = Object.entries(REMOVED).map(([key, name]) => `${key}: [${name}]`);
  return filled(SITE, { 'OWN KEYS': keys, 'OWN REMOVALS': removals });
}

/** The places of the parts in the site, as docs/quickstart/envoy.md names them, and their indentation. */
const PLACES: readonly (readonly [word: string, line: RegExp, indent: number])[] = [
  ['connection', /stat_prefix: .*\n/, 16],
  ['virtual', /domains: .*\n/, 22],
  ['filters', /.* envoy.filters.http.buffer, .*\n/, 18],
  ['clusters', /\n {2}clusters:\n/, 4],
];

/** With lists that are joined, and one of each other key that a part and the site have. */
function withParts(manager: readonly string[], { mode, policies, port }: Guard): string {
  const gateway = { host: '127.0.0.1', port };
  const partFor = (include: string) => patient(proxyConfigOf(mode, policies, { include, gateway }));
  const connection = partFor('connection');
  const isOwn = (line: string) => !connection.includes(`\n${line.slice(0, line.indexOf(':') + 1)}`);
  let text = filled(SITE, { 'OWN KEYS': manager.filter(isOwn), 'OWN REMOVALS': [] });
  for (const [word, line, indent] of PLACES) {
    let part = partFor(word);
    if (word === 'connection')
      part = part
        .replace('# headgate: end of part', `${nested(MAPPERS, 4).join('\n')}\n`)
        .replace('  mappers:\n', `  ${FORMAT}\n  mappers:\n`);
    if (word === 'virtual')
      part += `request_headers_to_remove: [${REMOVED.request_headers_to_remove}]\n`;
    part = part.replace(
      'response_headers_to_remove:\n',
      `response_headers_to_remove:\n  - ${REMOVED.response_headers_to_remove}\n`,
    );
    text = text.replace(line, (found) => found + nested(part, indent).join('\n'));
  }
  return text;
}

const nested = (text: string, by: number) =>
  text.split('\n').map((line) => (line === '' ? line : ' '.repeat(by) + line));

/** Replaces lines by others with the same indentation. */
function filled(text: string, lines: Readonly<Record<string, readonly string[]>>): string {
  return Object.entries(lines).reduce(
    (result, [name, own]) =>
      result.replace(new RegExp(`( +)${name}\n`), (_, indent: string) =>
        own.map((line) => `${indent}${line}\n`).join(''),
      ),
    text,
  );
}
