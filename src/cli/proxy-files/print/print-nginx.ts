import { type Address, hostAndPort } from '../proxy-address.ts';
import { headerTitle } from './client-headers.ts';
import { keyPattern } from './failure-conditions.ts';
import { type Include, uncommentedWith, type Writer } from './writer.ts';

export const nginx: Writer = {
  file: 'nginx/nginx.conf',
  includes: [
    part('http', 'in the block http'),
    part(
      'server',
      'in each block server that it protects, above its rewrite, if, set and return lines',
    ),
    part('location', 'in each location that it protects'),
  ],
  gateway: { shipped: 'server 127.0.0.1:8080', write: serverAt },
  application: { shipped: 'server 127.0.0.1:3000', write: serverAt },
  listener: 'listen 8000;',
  cloudflare: {
    'nginx/nginx.conf': { '#include cloudflare.conf;': 'include cloudflare.conf;' },
    'nginx/cloudflare.conf': {},
  },
  loadBalancer: (networks) => ({
    'nginx/nginx.conf': {
      '#set_real_ip_from 10.0.0.0/8;  real_ip_header X-Forwarded-For;  real_ip_recursive on;': [
        ...networks.map((network) => `set_real_ip_from ${network};`),
        'real_ip_header X-Forwarded-For;',
        'real_ip_recursive on;',
      ].join('\n    '),
    },
  }),
  regions: ({ headers: { passed, owned, counted }, failure, sendsSecret, passesToken }) => ({
    // The fewer, the better: without a proxy_set_header, the location inherits those of the site.
    'client headers for the application': () => counted.map(passOn),
    'settle token': (shipped) => (passesToken ? shipped : []),
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

function part(place: string, goes: string): Include {
  const file = `headgate-${place}.conf`;
  return { place, file, line: `include ${file};`, goes };
}

function passOn(name: string): string {
  return `proxy_set_header ${headerTitle(name)} $http_${name.replaceAll('-', '_')};`;
}

function serverAt(address: Address): string {
  return 'socket' in address ? `server unix:${address.socket}` : `server ${hostAndPort(address)}`;
}
