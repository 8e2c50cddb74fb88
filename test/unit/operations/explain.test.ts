import { expect, test } from 'vitest';
import { type AskedAbout, explain, untouched } from '../../../src/operations/explain.ts';
import { policySetFrom } from '../../support/policies.ts';
import { NOON_MS } from '../../support/requests.ts';

const POLICIES = `
version: 1
identity:
  sources: [api_key, { header: x-cdn-client, from: [173.245.48.0/20] }, ip]
  trusted_proxies: [loopback, 10.0.0.0/8]
block: [203.0.113.66]
default: { limits: [1000/1h] }
policies:
  - { name: login, match: { method: POST, path: /login }, limits: [5/5min] }
  - { name: posts, match: { method: POST, path: "/*" }, limits: [50/1min] }
  - { name: shop, match: { host: shop.example.com, path: /login }, limits: [50/1min] }
  - { name: trial, mode: shadow, always: true, limits: [{ rate: 9/1h, per: global }] }`;

async function explained(asked: Partial<AskedAbout>, policies = POLICIES) {
  const { steps, answer } = await explain(
    {
      method: 'GET',
      url: '/login',
      headers: [],
      proxy: '127.0.0.1',
      peer: '203.0.113.9',
      client: undefined,
      ...asked,
    },
    untouched(policySetFrom(policies), NOON_MS),
  );
  const on = (subject: string) =>
    steps.filter(({ about }) => about === subject).map(({ what }) => what);
  return { on, answer };
}

test('says which policies a request meets, and what keeps the others from it', async () => {
  const { on, answer } = await explained({ method: 'POST', url: '/LOGIN?a=b' });
  expect(on('path')).toEqual(['/LOGIN?a=b is /login']);
  expect(on('policy')).toEqual([
    'login applies: it is the most specific',
    'posts matches, and login comes first',
    'shop is for host shop.example.com',
    'trial applies, in shadow: always',
    'default is for what no policy names',
  ]);
  expect(on('limit')).toEqual([
    expect.stringMatching(/^login: 5 requests per 5 minutes, per client, under hg:v1:\{i\./),
    'login: 4 of 5 are left after this',
  ]);
  expect(answer.status).toBe(200);
  expect(answer.headers).toContain('X-RateLimit-Remaining');
});

test('says which policies another reading of the path adds', async () => {
  const { on } = await explained({ method: 'POST', url: '//login' });
  expect(on('path')).toContain('or, for some servers, //login');
  expect(on('policy').slice(0, 2)).toEqual([
    'login applies: it is the most specific',
    'posts applies: the path can be read so',
  ]);
});

test('says what each policy is for that a request is not', async () => {
  const { on } = await explained({ method: 'GET', url: 'https://api.example.com/search' });
  expect(on('policy')).toEqual([
    'login is for path /login and method POST',
    'posts is for method POST',
    'shop is for path /login and host shop.example.com',
    'trial applies, in shadow: always',
    'default applies: no policy names the request',
  ]);
});

test.each([
  [{ proxy: '8.8.8.8' }, 'proxy', /^8\.8\.8\.8 is not in identity\.trusted_proxies/],
  [{ proxy: '10.1.2.3' }, 'proxy', /^10\.1\.2\.3 is trusted: 10\.0\.0\.0\/8$/],
  [{ peer: undefined }, 'address', /^the proxy reports none$/],
  [
    { peer: '173.245.48.5', headers: [['X-CDN-Client', '198.51.100.7']] },
    'address',
    /^x-cdn-client is believed: 173\.245\.48\.5 is in 173\.245\.48\.0\/20$/,
  ],
  [
    { headers: [['x-cdn-client', '198.51.100.7']] },
    'address',
    /^x-cdn-client is ignored: who connected, 203\.0\.113\.9, is not in/,
  ],
  [
    {
      peer: '173.245.48.5',
      headers: [
        ['x-cdn-client', '198.51.100.7'],
        ['x-cdn-client', '198.51.100.8'],
      ],
    },
    'address',
    /^x-cdn-client is ignored: it is not one address$/,
  ],
  [
    { peer: '10.0.0.1', headers: [['x-forwarded-for', '198.51.100.7, 10.0.0.2']] },
    'address',
    /^198\.51\.100\.7: by x-forwarded-for, for which the trusted proxy 10\.0\.0\.2 vouches$/,
  ],
  [
    { headers: [['x-forwarded-for', '198.51.100.7']] },
    'address',
    /^x-forwarded-for is not read: 203\.0\.113\.9 is no trusted proxy/,
  ],
  [{ headers: [['X-Api-Key', 'k']] }, 'identity', /^api_key speaks for the client; nobody lists/],
  [{}, 'identity', /^api_key: the request has none that is believed$/],
  [{ peer: '203.0.113.66' }, 'identity', /^the client is blocked$/],
  [{ url: '/a%00' }, 'path', /^it has control characters, or too many readings: refused$/],
] satisfies [Partial<AskedAbout>, string, RegExp][])('%j: %s', async (asked, subject, expected) => {
  const { on } = await explained(asked);
  expect(on(subject)).toContainEqual(expect.stringMatching(expected));
});

test('answers as a gateway would', async () => {
  expect((await explained({ peer: '203.0.113.66' })).answer.status).toBe(403);
  expect((await explained({ url: '/a%00' })).answer.status).toBe(400);
});
