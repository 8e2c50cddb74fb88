import { type Answers, LOGINS, POLICY_FILE, TEST_FILE } from './answers.ts';

/** So many keys of one address may log in, each within its own limit. */
export const KEYS_PER_ADDRESS = 4;
/** A client may send so many in a minute, unless a policy says otherwise. */
export const REQUESTS = 300;

export function policyFile(answers: Pick<Answers, 'front' | 'keys' | 'login'>): string {
  const sources = [
    ...(answers.keys ? ['api_key'] : []),
    ...(answers.front?.kind === 'cloudflare' ? ['cf_connecting_ip'] : []),
    'ip',
  ];
  return `# Who may send how many requests. After a change, check and test it:
#   headgate check --strict ${POLICY_FILE}
#   headgate test --coverage ${TEST_FILE}
# A running gateway notices changes of this file by itself.
version: 1

identity:
  # The first of these that a request has identifies its client.
  sources: [${sources.join(', ')}]
${answers.keys ? KEYS : ''}  # The proxies that may say where a request comes from.
  trusted_proxies: [${trustedProxies(answers).join(', ')}]
  # A network of each size gets so many times the limit, so that inventing addresses in a /48 gains little.
  ip: { ipv6_prefixes: { 64: 1x, 56: 4x, 48: 16x } }

# Applies to requests that match no policy below.
default:
  limits: [${REQUESTS}/1min]
  # To count without denying anybody, which headgate top then shows:
  #mode: shadow

${answers.login === undefined ? NO_POLICY : loginPolicy(answers.login, answers.keys)}`;
}

const NO_POLICY = `# Requests that need their own limit have a policy:
#policies:
#  - name: search
#    match: { path: /search }
#    limits: [30/1min]
`;

const loginPolicy = (path: string, hasKeys: boolean) => `policies:
  - name: login
    match: { method: POST, path: ${path} }
    limits:
      - ${LOGINS}/5min # per client${hasKeys ? PER_ADDRESS : ''}
    # If Redis is down, each gateway counts by itself.
    on_store_failure: local
    # If no gateway answers, the proxy refuses logins and lets other requests pass. The proxy's file has this path, too.
    # If you change the path, also change it in the tests, and print the proxy's file again: headgate proxy-config.
    on_gateway_failure: deny
    #mode: shadow
`;

const KEYS = `  api_key:
    header: x-api-key
    # A key that is not listed below also counts for its address. With 1, all such keys of one address together get no
    # more than a client without a key, so inventing keys gains nothing. List the keys that you gave out.
    unverified_factor: 1
    # headgate key new --id acme makes a key and its entry:
    #keys:
    #  - { id: acme, sha256: 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae }
`;

const PER_ADDRESS = `
      - { rate: ${LOGINS * KEYS_PER_ADDRESS}/5min, per: ip } # all keys of one address together`;

function trustedProxies({ front }: Pick<Answers, 'front'>): readonly string[] {
  // Without quotes, YAML would read the colons of an IPv6 network as a map.
  const quoted = (network: string) => (network.includes(':') ? JSON.stringify(network) : network);
  if (front?.kind !== 'load-balancer') return ['loopback'];
  return ['loopback', ...front.networks.map(quoted)];
}
