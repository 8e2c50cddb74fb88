/** What a client controls of a request that its proxy asks about, and the pieces from which costly values are made. */
import type { ProxyCall } from '../../src/gateway/core/dialect.ts';

export interface CostlyField {
  readonly name: string;
  /** The proxy through which it is sent. */
  readonly dialect: 'envoy' | 'nginx' | 'caddy' | 'traefik' | 'ingress-nginx';
  /** Bytes, as far as a proxy passes them on. */
  readonly lengths: readonly number[];
  readonly pieces: readonly string[];
  /** The request with this value. */
  call(value: string): ProxyCall;
}

/** Of a trusted network, so that everything that the request says of addresses is looked at. */
const PEER = '10.0.0.7';
const LENGTHS = [64, 256, 1_024, 2_040, 8_000, 48_000];

const PATH_PIECES = [
  ...[
    '/',
    '//',
    'a',
    'A',
    '.',
    '..',
    '/../',
    '/./',
    ';',
    ';a',
    '..;/',
    '\\',
    '#',
    ':',
    '@',
    'http:',
    'http://',
  ],
  ...[
    '%61',
    '%2f',
    '%5c',
    '%2e',
    '%2e%2e/',
    '%252e',
    '%252f',
    '%25',
    '%3f',
    '%23',
    '%3b',
    '%09',
    '%20',
    '%0',
    '%',
  ],
  ...[
    '%c0%af',
    '%u002f',
    '%zz',
    '%ef%bd%8c',
    '%ef%bc%8f',
    '%cc%81',
    '%cc%96',
    '%ef%b7%ba',
    '%ff',
    '%f0%80%81%ac',
  ],
  ...['\xef\xbd\x8c', '\xcc\x81', '\xff', '\xef\xb7\xba', '?', ',', '/a/'],
];
const ADDRESS_PIECES = [
  ...[
    ',',
    ' ',
    '10.0.0.1',
    '10.0.0.2,',
    '10.9.8.7, ',
    '[::ffff:10.0.0.1]:1,',
    '64:ff9b::a00:1,',
    '2001:db8::1,',
    '"',
  ],
  ...[
    'for=',
    'for=10.0.0.3,',
    'for="[2001:db8::1]",',
    ';',
    '=',
    'unknown,',
    '1.2.3.4,',
    '\\"',
    'a',
    '%eth0',
    ':80,',
  ],
];
const TEXT_PIECES = [
  'a',
  'B',
  ',',
  ';',
  '=',
  ' ',
  '\xff',
  '\xc3\xa9',
  '%',
  '"',
  '\\',
  'Bearer ',
  '.',
  '/',
  '0',
];
const HOST_PIECES = [
  'a',
  'a.',
  '.',
  '-',
  '_',
  ':',
  ':80',
  '[',
  ']',
  '::',
  '[::1]',
  '%61',
  '\xff',
  '0',
  ',',
];

function fromEnvoy(parts: {
  target?: string;
  host?: string;
  method?: string;
  headers?: Record<string, string>;
}): ProxyCall {
  const { target = '/api/search', host = 'api.example.com', method = 'GET', headers = {} } = parts;
  return {
    method,
    target,
    headers: { host, 'x-headgate-peer-ip': PEER, 'x-headgate-client-ip': PEER, ...headers },
    remoteAddress: '127.0.0.1',
  };
}

function fromNginx(method: string, target: string): ProxyCall {
  const headers = {
    host: 'api.example.com',
    'x-original-method': method,
    'x-original-uri': target,
    'x-real-ip': PEER,
    'x-headgate-peer-ip': PEER,
  };
  return { method: 'HEAD', target: '', headers, remoteAddress: '127.0.0.1' };
}

function fromTraefik(host: string): ProxyCall {
  const headers = {
    host: 'headgate',
    'x-forwarded-method': 'GET',
    'x-forwarded-uri': '/api/search',
    'x-forwarded-host': host,
    'x-forwarded-for': PEER,
  };
  return { method: 'GET', target: '', headers, remoteAddress: '127.0.0.1' };
}

const header = (name: string, pieces: readonly string[]): CostlyField => ({
  name,
  dialect: 'envoy',
  lengths: LENGTHS,
  pieces,
  call: (value) => fromEnvoy({ headers: { [name]: value } }),
});

export const COSTLY_FIELDS: readonly CostlyField[] = [
  {
    name: 'path',
    dialect: 'envoy',
    lengths: LENGTHS,
    pieces: PATH_PIECES.filter((piece) => !piece.includes(' ')),
    call: (value) => fromEnvoy({ target: `/${value}` }),
  },
  {
    name: 'path through NGINX',
    dialect: 'nginx',
    lengths: LENGTHS,
    pieces: PATH_PIECES,
    call: (value) => fromNginx('GET', `/${value}`),
  },
  {
    name: 'query',
    dialect: 'envoy',
    lengths: LENGTHS,
    pieces: PATH_PIECES.filter((piece) => !piece.includes(' ')),
    call: (value) => fromEnvoy({ target: `/api/search?${value}` }),
  },
  {
    name: 'URL through ingress-nginx',
    dialect: 'ingress-nginx',
    lengths: LENGTHS,
    pieces: [...PATH_PIECES, '://'],
    call: (value) => {
      const { headers, ...rest } = fromNginx('GET', '/');
      return { ...rest, headers: { ...headers, 'x-original-url': `http://a/${value}` } };
    },
  },
  {
    name: 'host',
    dialect: 'traefik',
    lengths: LENGTHS,
    pieces: HOST_PIECES,
    call: fromTraefik,
  },
  {
    name: 'method through NGINX',
    dialect: 'nginx',
    lengths: LENGTHS,
    pieces: TEXT_PIECES,
    call: (value) => fromNginx(value, '/api/search'),
  },
  header('x-api-key', TEXT_PIECES),
  header('x-user', TEXT_PIECES),
  header('x-tenant', TEXT_PIECES),
  header('cf-connecting-ip', ADDRESS_PIECES),
  header('x-forwarded-for', ADDRESS_PIECES),
];

/** Everything that a policy file can have a request looked at for. */
export const COSTLY_POLICIES = `
version: 1
identity:
  sources: [api_key, user, cf_connecting_ip, { header: x-edge-ip, from: proxy }, ip]
  trusted_proxies: [loopback, 10.0.0.0/8, cloudflare]
  verified_headers: [x-tenant]
  ip: { ipv6_prefixes: { 64: 1x, 56: 4x, 48: 16x } }
block: [203.0.113.0/24]
default: { limits: [1000000/1h] }
policies:
  - { name: login, match: { method: POST, path: /api/auth/login }, limits: [1000000/5min, { rate: 1000000/5min, per: ip }] }
  - { name: search, match: { method: GET, path: /api/search }, limits: [1000000/1min] }
  - { name: user, match: { path: "/api/users/:id/files/:file" }, limits: [1000000/1min] }
  - { name: files, match: { path: "/files/*" }, limits: [1000000/1min] }
  - { name: admin, match: { host: admin.example.com, path: "/*" }, limits: [1000000/1min] }
  - { name: any-host, match: { host: "*.example.com", path: "/x/:y/*" }, limits: [1000000/1min] }
  - { name: tenant, always: true, match: { path: "/api/*" }, limits: [{ rate: 1000000/1h, per: "header:x-tenant" }] }
  - { name: writes, always: true, match: { method: [POST, PUT], path: "/a/:b/*" }, limits: [1000000/1d] }
  - { name: everyone, always: true, limits: [{ rate: 1000000/1s, per: global }] }
`;
