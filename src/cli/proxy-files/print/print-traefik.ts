import { type Address, hostAndPort } from '../proxy-address.ts';
import { headerTitle } from './client-headers.ts';
import { refusedExpression } from './failure-conditions.ts';
import type { FailureRules } from './gateway-failure.ts';
import type { Writer } from './writer.ts';

/** Listed in the shipped file, outside of its regions. */
const ALWAYS_SENT = 'authorization';

export const traefik: Writer = {
  file: 'traefik/dynamic.yaml',
  besides: ['traefik/traefik.yaml'],
  gateway: { shipped: 'http://127.0.0.1:8080', write: urlOf },
  application: { shipped: 'http://127.0.0.1:3000', write: urlOf },
  ownPort: 8082,
  listener: 'address: ":8000"',
  loadBalancer: (networks) => ({
    'traefik/traefik.yaml': {
      '#forwardedHeaders: { trustedIPs: [10.0.0.0/8] }': `forwardedHeaders: { trustedIPs: ${JSON.stringify(networks)} }`,
    },
    'traefik/dynamic.yaml': { 'trustForwardHeader: false': 'trustForwardHeader: true' },
  }),
  regions: ({ headers: { passed, owned }, failure, sendsSecret }) => ({
    'client headers': () => [
      ...passed.filter((name) => name !== ALWAYS_SENT).map((name) => `- ${headerTitle(name)}`),
      ...owned.flatMap((name) => [
        `# Traefik must set ${headerTitle(name)} itself, under headgate-request. Then add this line:`,
        `#- ${headerTitle(name)}`,
      ]),
    ],
    'proxy secret': (shipped) =>
      sendsSecret ? shipped.map((line) => line.replace('""', '"the secret"')) : shipped,
    'refused without the gateway': () => [`rule: ${JSON.stringify(refusedWithout(failure))}`],
  }),
};

function urlOf(address: Address): string | undefined {
  const place = hostAndPort(address);
  return place && `http://${place}`;
}

/** A rule for the checks that Traefik sends to itself. Their headers describe the client's request. */
function refusedWithout(failure: FailureRules | undefined): string {
  // No check has this path.
  if (failure === undefined) return 'Path(`/nothing`)';
  const names = { method: 'Method', host: 'Host', path: 'Uri' };
  const any = 'PathPrefix(`/`)';
  return `Path(\`/traefik\`) && ${refusedExpression(failure, { names, matching, any })}`;
}

function matching(what: string, pattern: string): string {
  return `HeaderRegexp(\`X-Forwarded-${what}\`, \`(?i)^${pattern}$\`)`;
}
