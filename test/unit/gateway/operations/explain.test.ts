import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type QuotaStore, StoreError } from '../../../../src/gateway/core/counting/store.ts';
import { addressPartition } from '../../../../src/gateway/core/identity/partition.ts';
import { KeyBook } from '../../../../src/gateway/keys/key-book.ts';
import { MemoryKeyStore } from '../../../../src/gateway/keys/memory-key-store.ts';
import {
  type ExplainedRequest,
  explain,
  freshContext,
} from '../../../../src/gateway/operations/explain.ts';
import { DIALECT_NAMES } from '../../../../src/gateway/operations/request-form.ts';
import type { Override } from '../../../../src/gateway/stores/overrides/override.ts';
import { keyRecord, observedKeyEvents } from '../../../support/keys.ts';
import { policySetFrom } from '../../../support/policies.ts';
import { NOON_MS } from '../../../support/requests.ts';

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

async function explained(
  request: Partial<ExplainedRequest>,
  policies = POLICIES,
  take?: QuotaStore['take'],
) {
  const context = freshContext(policySetFrom(policies), NOON_MS);
  const { steps, answer } = await explain(
    {
      method: 'GET',
      url: '/login',
      headers: [],
      proxy: '127.0.0.1',
      peer: '203.0.113.9',
      client: undefined,
      ...request,
    },
    take === undefined ? context : { ...context, store: { ...context.store, take } },
  );
  const on = (subject: string) =>
    steps.filter(({ about }) => about === subject).map(({ what }) => what);
  return { on, answer };
}

test('finds the user and the plan in what filters of Envoy say', async () => {
  const claims = (claim: string) => `{ metadata: jwt, claim: [payload, ${claim}] }`;
  const policies = `version: 1
identity: { sources: [user, ip], user: ${claims('sub')}, plan: ${claims('plan')} }
default: { limits: [1000/1h], plans: { pro: [2000/1h] } }`;
  const limitFor = async (metadata: ExplainedRequest['metadata']) => {
    const { headers } = (await explained({ metadata }, policies)).answer;
    return headers[headers.indexOf('X-RateLimit-Limit') + 1];
  };
  expect(await limitFor({ jwt: { payload: { sub: 'alice', plan: 'pro' } } })).toBe('2000');
  expect(await limitFor({ jwt: { payload: { plan: 'pro' } } })).toBe('1000');
  expect(await limitFor(undefined)).toBe('1000');
});

describe('the plan of a client', () => {
  const policies = `version: 1
identity:
  sources: [api_key, user, ip]
  plan: { header: x-plan }
  verified_headers: [x-plan]
  api_key:
    keys:
      - { id: acme, sha256: ${hash('sha256', 'acme-key')}, plan: pro }
      - { id: globex, sha256: ${hash('sha256', 'globex-key')} }
default: { limits: [10/1h], plans: { pro: [20/1h] } }`;
  const saysOf = async (headers: Record<string, string>, proxy = '127.0.0.1') => {
    const { on } = await explained({ headers: Object.entries(headers), proxy }, policies);
    return on('identity').filter((what) => /\bplan\b/.test(what));
  };

  test.each([
    [
      { 'x-api-key': 'acme-key' },
      [
        'the policy file names the plan pro',
        'x-plan names no plan',
        'the key is listed: id:acme (plan pro)',
      ],
    ],
    [
      { 'x-api-key': 'acme-key', 'x-plan': 'gold' },
      [
        'the policy file names the plan pro',
        'x-plan names the plan gold, which is ignored: the plan of the key comes first',
        'the key is listed: id:acme (plan pro)',
      ],
    ],
    [{ 'x-api-key': 'globex-key', 'x-plan': 'pro' }, ['x-plan names the plan pro']],
    [
      { 'x-user': 'alice', 'x-plan': 'gold' },
      [
        'x-plan names the plan gold',
        'no policy has the plan gold: the limits without a plan apply',
      ],
    ],
    [
      { 'x-plan': 'pro' },
      [
        'x-plan names the plan pro, which is ignored: the client has no listed key, no user and no verified header',
      ],
    ],
    [
      { 'x-api-key': 'invented', 'x-plan': 'pro' },
      [
        'x-plan names the plan pro, which is ignored: the client has no listed key, no user and no verified header',
      ],
    ],
  ])('is told with what names it, and whether it counts: %j', async (headers, expected) => {
    expect(await saysOf(headers as Record<string, string>)).toEqual(expected);
  });

  test('is ignored from a proxy that is not trusted', async () => {
    expect(await saysOf({ 'x-user': 'alice', 'x-plan': 'pro' }, '8.8.8.8')).toEqual([
      'x-plan names the plan pro, which is ignored: the proxy is not in identity.trusted_proxies',
    ]);
  });

  test('may stand in metadata; a file without identity.plan has no line about it', async () => {
    const inMetadata = `version: 1
identity: { sources: [user, ip], plan: { metadata: jwt, claim: [payload, plan] } }
default: { limits: [10/1h], plans: { pro: [20/1h] } }`;
    const metadata = { jwt: { payload: { plan: 'pro' } } };
    const request = { headers: [['x-user', 'alice']], metadata } as const;
    expect((await explained(request, inMetadata)).on('identity')).toContain(
      'metadata jwt, payload.plan, names the plan pro',
    );
    expect((await explained(request)).on('identity').join()).not.toContain('plan');
  });
});

test('a key of the store is not looked up without a gateway, and that is said', async () => {
  const policies = `version: 1
identity: { api_key: { keys: redis } }
default: { limits: [10/1h] }`;
  const said = 'keys in Redis are not looked up here: the key counts as unlisted';
  const { on } = await explained({ headers: [['x-api-key', 'k']] }, policies);
  expect(on('identity')).toContain(said);
  expect((await explained({}, policies)).on('identity')).not.toContain(said);
});

test('a key of the store that no check has seen is looked up first', async () => {
  const keys = new KeyBook({
    ...{ store: new MemoryKeyStore(), events: observedKeyEvents() },
    ...{ deadlineMs: 10_000, now: () => NOON_MS },
  });
  await keys.put([keyRecord('acme', { plan: 'pro' })]);
  const set = policySetFrom(`version: 1
identity: { api_key: { keys: redis } }
default: { limits: [10/1h], plans: { pro: [20/1h] } }`);
  const headers = [['x-api-key', 'acme']] as const;
  const { steps } = await explain(
    { method: 'GET', url: '/', headers, proxy: '127.0.0.1' },
    { ...freshContext(set, NOON_MS), keys },
  );
  expect(steps).toContainEqual({ about: 'identity', what: 'the store names the plan pro' });
});

test('says which policies apply to a request, and why the others do not', async () => {
  const { on, answer } = await explained({ method: 'POST', url: '/LOGIN?a=b' });
  expect(on('path')).toEqual(['/LOGIN?a=b is read as /login']);
  expect(on('policy')).toEqual([
    'login applies: it is the most specific match',
    'posts matches, but login takes precedence',
    'shop does not match: it requires host shop.example.com',
    'trial applies in shadow mode: it applies to every request (always: true)',
    'default does not apply: another policy matches',
  ]);
  expect(on('limit')).toEqual([
    expect.stringMatching(/^login: 5 requests per 5 minutes, per client; counted as hg:v1:\{i\./),
    'login: 4 of 5 remain after this request',
  ]);
  expect(answer.status).toBe(200);
  expect(answer.headers).toContain('X-RateLimit-Remaining');
});

test('says which policies another reading of the path adds', async () => {
  const { on } = await explained({ method: 'POST', url: '//login' });
  expect(on('path')).toContain('some servers read it as //login');
  expect(on('policy').slice(0, 2)).toEqual([
    'login applies: it is the most specific match',
    'posts applies: it matches another reading of the path',
  ]);
});

test('says what a policy requires that the request does not match', async () => {
  const { on } = await explained({ method: 'GET', url: 'https://api.example.com/search' });
  expect(on('policy')).toEqual([
    'login does not match: it requires path /login and method POST',
    'posts does not match: it requires method POST',
    'shop does not match: it requires path /login and host shop.example.com',
    'trial applies in shadow mode: it applies to every request (always: true)',
    'default applies: no other policy matches',
  ]);
});

test.each([
  [{ proxy: '8.8.8.8' }, 'proxy', /^8\.8\.8\.8 is not in identity\.trusted_proxies/],
  [{ proxy: '10.1.2.3' }, 'proxy', /^10\.1\.2\.3 is a trusted proxy: 10\.0\.0\.0\/8$/],
  [{ peer: undefined }, 'address', /^the proxy reports no address$/],
  [
    { peer: '173.245.48.5', headers: [['X-CDN-Client', '198.51.100.7']] },
    'address',
    /^x-cdn-client is used: 173\.245\.48\.5 is in 173\.245\.48\.0\/20$/,
  ],
  [
    { headers: [['x-cdn-client', '198.51.100.7']] },
    'address',
    /^x-cdn-client is ignored: 203\.0\.113\.9 connected to the proxy and is not in/,
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
    /^x-forwarded-for: the trusted proxy 10\.0\.0\.2 reports 198\.51\.100\.7$/,
  ],
  [
    { headers: [['x-forwarded-for', '198.51.100.7']] },
    'address',
    /^x-forwarded-for is ignored: 203\.0\.113\.9 is not a trusted proxy$/,
  ],
  [
    { headers: [['X-Api-Key', 'k']] },
    'identity',
    /^api_key identifies the client; the key counts as unlisted/,
  ],
  [{}, 'identity', /^no API key was sent, or it was not accepted$/],
  [{ peer: '203.0.113.66' }, 'identity', /^the client is blocked$/],
  [
    { url: '/a%00' },
    'path',
    /^it has control characters or too many readings: the request is denied$/,
  ],
] satisfies [Partial<ExplainedRequest>, string, RegExp][])(
  '%j: %s',
  async (request, subject, expected) => {
    const { on } = await explained(request);
    expect(on(subject)).toContainEqual(expect.stringMatching(expected));
  },
);

test('a header with letters beyond ASCII is read as its UTF-8 bytes', async () => {
  const { on, answer } = await explained({ headers: [['x-api-key', 'ТОР']] });
  expect(on('identity')).toContainEqual(expect.stringMatching(/^api_key identifies the client/));
  expect(answer.status).toBe(200);
});

test('answers as a gateway does', async () => {
  expect((await explained({ peer: '203.0.113.66' })).answer.status).toBe(403);
  expect((await explained({ url: '/a%00' })).answer.status).toBe(400);
});

test('a refused path has one line, and no policy is explained', async () => {
  const { on } = await explained({ url: '/a%00' });
  expect(on('path')).toHaveLength(1);
  expect(on('policy')).toEqual([]);
});

describe('the answer is the one that the chosen proxy gets', () => {
  const login = { method: 'POST', url: '/login' };

  test('envoy, if none is chosen', async () => {
    expect((await explained(login)).answer).toMatchObject({ dialect: 'envoy', status: 200 });
  });
  test.each([
    ['envoy', 400],
    ['traefik', 400],
    ['nginx', 403],
    ['ingress-nginx', 403],
    ['envoy-grpc', 400],
  ])('%s answers a malformed path with %i', async (dialect, status) => {
    const { answer } = await explained({ url: '/a%00', dialect });
    expect(answer).toMatchObject({ dialect, status });
    expect(answer.body).toContain('malformed_path');
  });
  test.each(DIALECT_NAMES)('%s lets an admitted request through', async (dialect) => {
    const { answer } = await explained({ ...login, dialect });
    expect(answer).toMatchObject({ dialect, status: 200, body: '' });
    expect(answer.headers.join()).toMatch(/X-RateLimit-Remaining,4/i);
  });
  test.each([
    ['envoy', 'application/grpc', true],
    ['envoy-grpc', 'application/grpc+proto', true],
    ['envoy', 'application/json', false],
    ['nginx', 'application/grpc', false],
  ])('%s, asked about %s, hears the status of gRPC: %s', async (dialect, type, hears) => {
    const headers: [string, string][] = [['Content-Type', type]];
    const policies = POLICIES.replace(
      'limits: [5/5min]',
      'limits: [5/5min], on_store_failure: deny',
    );
    const down = () => Promise.reject(new StoreError('refused', 'down'));
    const { answer } = await explained({ ...login, dialect, headers }, policies, down);
    expect(answer.headers.includes('Grpc-Status')).toBe(hears);
  });
  test('an unknown name is refused with a list of the known names', async () => {
    await expect(explained({ dialect: 'squid' })).rejects.toThrow(
      `"squid" is not a proxy that headgate knows; use one of ${DIALECT_NAMES.join(', ')}`,
    );
  });
});

test('says that a block for weeks has ended, although no check needs the 31-day salts any more', async () => {
  const context = freshContext(policySetFrom(POLICIES), NOON_MS);
  const { long } = addressPartition('203.0.113.9', [64], context.salts.at(NOON_MS, true));
  const override: Override = {
    ...{ about: 'client', client: long?.current ?? '', isLong: true, access: 'blocked' },
    ...{ sinceMs: NOON_MS - 9, untilMs: NOON_MS + 9, reason: 'a test', by: 'ada' },
  };
  const ended = () => [{ override, endedMs: NOON_MS, endedBy: 'bob' }];
  const request = { method: 'GET', url: '/', headers: [], proxy: '127.0.0.1' };
  const { steps } = await explain(
    { ...request, client: '203.0.113.9' },
    { ...context, overrides: { ...context.overrides, ended } },
  );
  expect(steps).toContainEqual({
    about: 'identity',
    what: expect.stringMatching(/^ended override: .*; unblocked at .* UTC, now, by bob$/),
  });
});
