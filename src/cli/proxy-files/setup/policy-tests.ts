import { type Answers, LOGINS, POLICY_FILE, TEST_FILE } from './answers.ts';
import { KEYS_PER_ADDRESS, REQUESTS } from './policy-file.ts';

/** A network of Cloudflare, from config/cloudflare-ranges.yaml. */
const CLOUDFLARE = '173.245.48.5';
const KEYS = ['one', 'two', 'three', 'four', 'five'].slice(0, KEYS_PER_ADDRESS + 1);

export function policyTests(answers: Pick<Answers, 'front' | 'keys' | 'login'>): string {
  const { front, keys, login } = answers;
  return `# Tests of ${POLICY_FILE}, in virtual time: headgate test --coverage ${TEST_FILE}
policies: ${POLICY_FILE}
${keys ? `\n# These count as listed keys.\napi_keys: [${KEYS.join(', ')}]\n` : ''}
clients:
  alice: { address: 203.0.113.9 }
  bob: { address: 198.51.100.7 }
${keys ? keyClients() : ''}${front?.kind === 'cloudflare' ? CLOUDFLARE_CLIENTS : ''}
tests:
${login === undefined ? '' : loginTests(`POST ${login}`)}  - name: ${login === undefined ? 'everything' : 'everything else'} has ${REQUESTS} requests a minute
    steps:
      - { client: alice, send: GET /, times: ${REQUESTS}, expect: { verdict: allow, policy: default } }
      - { client: alice, send: GET /about, expect: { verdict: deny, policy: default } }
${keys ? keyTests(login) : ''}${front?.kind === 'cloudflare' ? cloudflareTests(login) : ''}`;
}

const loginTests = (request: string) => `  - name: the sixth login in five minutes waits
    steps:
      - { at: 0s, client: alice, send: ${request}, times: ${LOGINS}, every: 1s, expect: { verdict: allow, policy: login } }
      - { at: 10s, client: alice, send: ${request}, expect: { verdict: deny, status: 429, retry_after: 290s } }
      - { client: bob, send: ${request}, expect: allow }
      - { at: 300s, client: alice, send: ${request}, expect: allow }

`;

const keyClients = () =>
  `${KEYS.map((id) => `  ${id}: { address: 192.0.2.1, api_key: ${id} }\n`).join('')}  # The same address with keys that are not listed.
  eve: { address: 192.0.2.2 }
  eve-1: { address: 192.0.2.2, headers: { x-api-key: invented-1 } }
  eve-2: { address: 192.0.2.2, headers: { x-api-key: invented-2 } }
`;

const keyTests = (
  login: string | undefined,
) => `${login === undefined ? '' : keyLogins(`POST ${login}`)}
  - name: invented keys get no more than no key
    steps:
      - { client: eve, send: GET /, times: ${REQUESTS}, expect: allow }
      - { client: eve, send: GET /, expect: deny }
      - { client: eve-1, send: GET /, expect: deny }
      - { client: eve-2, send: GET /, expect: deny }
`;

const keyLogins = (request: string) => `
  - name: all keys of one address together log in ${LOGINS * KEYS_PER_ADDRESS} times in five minutes
    steps:
${KEYS.slice(0, KEYS_PER_ADDRESS)
  .map((id) => `      - { client: ${id}, send: ${request}, times: ${LOGINS}, expect: allow }\n`)
  .join(
    '',
  )}      - { client: ${KEYS.at(-1)}, send: ${request}, expect: { verdict: deny, policy: login } }
`;

const CLOUDFLARE_CLIENTS = `  # Cloudflare connects, and says who the client is.
  carol: { address: ${CLOUDFLARE}, headers: { cf-connecting-ip: 203.0.113.20 } }
  dave: { address: ${CLOUDFLARE}, headers: { cf-connecting-ip: 203.0.113.21 } }
  # Connects directly, and claims to be carol.
  mallory: { address: 198.51.100.66, headers: { cf-connecting-ip: 203.0.113.20 } }
`;

function cloudflareTests(login: string | undefined): string {
  const [request, times] = login === undefined ? ['GET /', REQUESTS] : [`POST ${login}`, LOGINS];
  return `
  - name: clients behind Cloudflare have a limit each, and nobody else can use it up
    steps:
      - { client: mallory, send: ${request}, times: ${times}, expect: allow }
      - { client: mallory, send: ${request}, expect: deny }
      - { client: carol, send: ${request}, times: ${times}, expect: allow }
      - { client: carol, send: ${request}, expect: deny }
      - { client: dave, send: ${request}, expect: allow }
`;
}
