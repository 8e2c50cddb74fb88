import { hostAndPort } from '../proxy-address.ts';
import { keyPattern } from './failure-conditions.ts';
import type { FailureRules } from './gateway-failure.ts';
import { type ShippedAddress, uncommentedWith, type Writer } from './writer.ts';

/** The target of every HTTP/2 request begins with the origin. */
const ORIGIN = '(https?://[a-z0-9._:-]+)?';

export const haproxy: Writer = {
  file: 'haproxy/haproxy.cfg',
  besides: ['haproxy/headgate.lua'],
  gateway: server('headgate', 8080),
  application: server('application', 3000),
  ownPort: 8090,
  listener: 'bind :8000',
  loadBalancer: (networks) => ({
    'haproxy/haproxy.cfg': {
      '#http-request set-src req.hdr_ip(X-Forwarded-For,-1) if { src 10.0.0.0/8 }': `http-request set-src req.hdr_ip(X-Forwarded-For,-1) if { src ${networks.join(' ')} }`,
    },
  }),
  regions: ({ headers: { passed, owned }, failure, sendsSecret }) => ({
    'client headers': (shipped) => [
      ...owned.flatMap((name) => [
        `# HAProxy must set ${name} itself: replace the next line by a set-header, but not of a value that clients choose.`,
        `http-request del-header ${name}`,
      ]),
      ...shipped.map((line) => line.replace(/\S+$/, [...passed, ...owned].join(','))),
    ],
    'proxy secret': uncommentedWith(sendsSecret),
    'refused without the gateway': () => refusedWithout(failure),
  }),
};

function server(name: string, port: number): ShippedAddress {
  const written = (place: string | undefined) => `server ${name} ${place}`;
  return {
    shipped: written(`127.0.0.1:${port}`),
    write: (to) => written('socket' in to ? `unix@${to.socket}` : hostAndPort(to)),
  };
}

/** HAProxy uses the last line that applies, so the first rule comes last. */
function refusedWithout(failure: FailureRules | undefined): string[] {
  if (failure === undefined) return [];
  const { method, rules } = failure;
  const refuses = (isRefused: boolean, condition: string) =>
    `http-request set-var(txn.headgate_refused) bool(${isRefused}) if !headgate_allowed${condition}`;
  return [
    'http-request set-var-fmt(txn.headgate_request) "%[method] %[req.hdr(host)] %[url]" if !headgate_allowed',
    refuses(true, ''),
    ...rules
      .toReversed()
      .map((rule) => refuses(rule.refuses, ` ${request(keyPattern(rule, ORIGIN))}`)),
    ...(method === undefined ? [] : [refuses(false, ` !${request(`^${method} `)}`)]),
  ];
}

function request(pattern: string): string {
  return `{ var(txn.headgate_request) -m reg -i '${pattern}' }`;
}
