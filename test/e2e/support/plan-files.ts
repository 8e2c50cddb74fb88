/** Files of proxies for a policy file whose plans are in `X-Plan`: the proxy removes the header, or sets it to `free`. */

import type { Behind } from '../../support/proxies.ts';
import { proxyConfigOf } from '../../support/proxy-config.ts';
import type { ProxyRow } from '../../support/proxy-starts.ts';

type Changes = Readonly<Record<string, string>>;
type PlanFile = Pick<Behind, 'text' | 'changes'>;

interface Ways {
  /** Undefined if no file is printed for the proxy. */
  readonly printed?: string;
  readonly removes?: Changes;
  readonly sets: Changes;
}

const MUTATION =
  'type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutation';
const CHECK = '- name: headgate.ext_authz\n';

/** As the printed file says: an earlier filter, and the line for the header. */
function envoyWith(mutation: object): Changes {
  const typed_config = { '@type': MUTATION, mutations: { request_mutations: [mutation] } };
  const filter = JSON.stringify({ name: 'plans', typed_config });
  return {
    [CHECK]: `- ${filter}\n                  ${CHECK}`,
    '#- { exact: x-plan,': '- { exact: x-plan,',
  };
}
const ENVOY = {
  removes: envoyWith({ remove: 'x-plan' }),
  sets: envoyWith({
    append: {
      header: { key: 'x-plan', value: 'free' },
      append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
    },
  }),
};

/** By the names in the table of docs/proxies.md. */
const WAYS: Readonly<Record<string, Ways>> = {
  NGINX: { printed: 'nginx', sets: { 'X-Plan "";': 'X-Plan free;' } },
  'Envoy, HTTP': { printed: 'envoy', ...ENVOY },
  'Envoy, gRPC': { printed: 'envoy-grpc', ...ENVOY },
  Caddy: { printed: 'caddy', sets: { 'header_up -X-Plan': 'header_up X-Plan free' } },
  HAProxy: {
    printed: 'haproxy',
    sets: { 'http-request del-header x-plan': 'http-request set-header x-plan free' },
  },
  Traefik: {
    printed: 'traefik',
    sets: {
      '          X-Headgate-Secret: "" # the secret': `          X-Plan: free
          X-Headgate-Secret: "" # the secret`,
      '#- X-Plan': '- X-Plan',
    },
  },
  'ingress-nginx': {
    sets: { 'proxy_set_header X-Plan "";': 'proxy_set_header X-Plan free;' },
  },
  APISIX: {
    sets: {
      'X-Headgate-Peer-IP: "$realip_remote_addr"': `X-Headgate-Peer-IP: "$realip_remote_addr"
          X-Plan: free`,
    },
  },
};

const SENDS_ALL = ['Caddy'];

export type Way = 'ships' | 'removes' | 'sets';

/** Undefined for a file that sends all headers of clients until somebody changes it. */
export function planFile({ proxy }: ProxyRow, policies: string, way: Way): PlanFile | undefined {
  const ways = WAYS[proxy];
  if (ways === undefined) return undefined;
  if (way === 'ships') return SENDS_ALL.includes(proxy) ? undefined : {};
  const { printed, [way]: changes = {} } = ways;
  return { changes, ...(printed !== undefined && { text: proxyConfigOf(printed, policies) }) };
}
