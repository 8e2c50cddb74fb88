import { type Address, hostAndPort } from '../proxy-address.ts';
import { headerTitle } from './client-headers.ts';
import { refusedExpression } from './failure-conditions.ts';
import type { FailureRules } from './gateway-failure.ts';
import type { Include, Writer } from './writer.ts';

export const caddy: Writer = {
  file: 'caddy/Caddyfile',
  includes: [
    part('global', 'headgate-global.caddy', 'in the global options'),
    part('file', 'headgate.caddy', 'above your sites'),
    {
      place: 'site',
      line: 'import headgate',
      goes: 'in each of your sites that shall ask headgate',
    },
  ],
  gateway: { shipped: '127.0.0.1:8080', write: upstreamAt },
  application: { shipped: '127.0.0.1:3000', write: upstreamAt },
  ownPort: 8090,
  listener: ':8000 {',
  loadBalancer: (networks) => ({
    'caddy/Caddyfile': {
      'auto_https off': `auto_https off\n\tservers {\n\t\ttrusted_proxies static ${networks.join(' ')}\n\t}`,
    },
  }),
  regions: ({ headers: { owned }, failure }) => ({
    // Caddy sends all headers of the client, and reads the secret from its environment.
    'client headers': () =>
      owned.flatMap((name) => [
        `# Caddy must set ${headerTitle(name)} itself: replace the next line, but not by a value that clients can choose.`,
        `header_up -${headerTitle(name)}`,
      ]),
    'refused without the gateway': () => [
      `@headgate_refused expression \`${refusedWithout(failure, 'orig_uri')}\``,
    ],
    'refused without the gateway, after a rewrite': () => [
      `expression \`${refusedWithout(failure, 'uri')}\``,
    ],
  }),
};

function upstreamAt(address: Address): string {
  return 'socket' in address ? `unix/${address.socket}` : (hostAndPort(address) ?? '');
}

function part(place: string, file: string, goes: string): Include {
  return { place, file, line: `import ${file}`, goes };
}

function refusedWithout(failure: FailureRules | undefined, path: 'orig_uri' | 'uri'): string {
  if (failure === undefined) return 'false';
  const names = { method: 'orig_method', host: 'hostport', path };
  return refusedExpression(failure, { names, matching, any: 'true' });
}

function matching(what: string, pattern: string): string {
  return `{http.request.${what}}.matches("(?i)^${pattern}$")`;
}
