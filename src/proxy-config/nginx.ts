import { headerTitle } from './client-headers.ts';
import { keyPattern } from './failure-keys.ts';
import { type Address, hostAndPort, uncommentedWith, type Writer } from './writer.ts';

export const nginx: Writer = {
  file: 'nginx/nginx.conf',
  besides: [],
  gateway: { shipped: 'server 127.0.0.1:8080', write: serverAt },
  application: { shipped: 'server 127.0.0.1:3000', write: serverAt },
  regions: ({ headers: { passed, owned }, failure, sendsSecret }) => ({
    // The file removes Forwarded from requests to the application.
    'client headers for the application': () =>
      passed.filter((name) => name !== 'forwarded').map(passOn),
    'client headers': () => [
      ...passed.map(passOn),
      ...owned.flatMap((name) => [
        `# NGINX must set ${headerTitle(name)} itself. Replace "" with a variable that clients cannot choose.`,
        `proxy_set_header ${headerTitle(name)} "";`,
      ]),
    ],
    'proxy secret': uncommentedWith(sendsSecret),
    'refused without the gateway': () => {
      if (failure === undefined) return ['default 0;'];
      const { method, rules } = failure;
      return [
        ...(method === undefined ? [] : [`"~*^(?!${method} )" 0;`]),
        ...rules.map((rule) => `"~*${keyPattern(rule)}" ${rule.refuses ? 1 : 0};`),
        'default 1;',
      ];
    },
  }),
};

function passOn(name: string): string {
  return `proxy_set_header ${headerTitle(name)} $http_${name.replaceAll('-', '_')};`;
}

function serverAt(address: Address): string {
  return 'socket' in address ? `server unix:${address.socket}` : `server ${hostAndPort(address)}`;
}
