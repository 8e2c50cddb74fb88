/** What `headgate proxy-config` adds to the files of deploy/ for policies of MCP calls. Caddy sends all headers. */
const NAMES = ['Mcp-Method', 'Mcp-Name', 'MCP-Protocol-Version'];

/** Behind the line of another header. */
function added(line: string, lineOf: (name: string) => string): Readonly<Record<string, string>> {
  return { [line]: [line, ...NAMES.map(lineOf)].join('\n') };
}

export const CALL_HEADERS_IN_NGINX = added(
  'proxy_set_header X-Api-Key $http_x_api_key;',
  (name) => `proxy_set_header ${name} $http_${name.toLowerCase().replaceAll('-', '_')};`,
);

export const CALL_HEADERS_IN_ENVOY = added(
  '                          - { exact: x-api-key, ignore_case: true }',
  (name) => `                          - { exact: ${name.toLowerCase()}, ignore_case: true }`,
);

const IN_HAPROXY = 'x-api-key,cf-connecting-ip';
export const CALL_HEADERS_IN_HAPROXY = {
  [IN_HAPROXY]: [IN_HAPROXY, ...NAMES].join(',').toLowerCase(),
};
