/** Files that nearly violate a rule. Files that violate it are in test/fixtures/policies. */
import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { adviceOnKeys } from '../../../../../src/cli/check/advice/keys.ts';
import { validatePolicyFile } from '../../../../../src/gateway/config/policy-file/validate.ts';
import { policyFileContext } from '../../../../support/policies.ts';
import { diagnosticsIn } from './diagnostics-in.ts';

const DEFAULT = 'default: { limits: [1000/1h] }';
const rulesIn = (sections: string, nowMs?: number): string[] =>
  diagnosticsIn(`{ version: 1, ${sections} }`, 'policies.yaml', nowMs).map(({ rule }) => rule);

const limits = (text: string) => `default: { limits: [${text}] }`;
const policies = (...matches: string[]) => {
  const entries = matches.map((match, i) => `{ name: p${i}, match: ${match}, limits: [1/1h] }`);
  return `${DEFAULT}, policies: [${entries.join(', ')}]`;
};
const identity = (text: string) => `${DEFAULT}, identity: { ${text} }`;
const KEY = `id: acme, sha256: ${hash('sha256', 'k', 'hex')}`;
const keyed = (rest: string) => `identity: { api_key: { keys: [{ ${KEY} }] } }, ${rest}`;

describe('there is no advice on', () => {
  test.each([
    [
      'a policy for any method next to one for GET',
      policies('{ path: /a }', '{ method: GET, path: /a }'),
    ],
    [
      'a policy for any method next to one for all common ones',
      policies('{ path: /a }', '{ method: [GET, POST, PUT, PATCH, DELETE], path: /a }'),
    ],
    [
      'a policy for any host next to others',
      policies('{ path: /a }', '{ host: a.example, path: /a }', '{ host: "*.example", path: /a }'),
    ],
    [
      'a wildcard host next to one of its hosts',
      policies('{ host: "*.example.com" }', '{ host: a.example.com }'),
    ],
    [
      'the rest of a path next to its first segments',
      policies('{ path: "/f/*" }', '{ path: /f }', '{ path: "/f/:a" }', '{ path: "/f/:a/:b" }'),
    ],
    [
      'the rest of a path whose root no other policy has',
      policies('{ path: "/*" }', '{ path: "/:a/*" }'),
    ],
    ['methods that clients send', policies('{ method: [PROPFIND, M-SEARCH] }')],
    [
      'spellings of a path that get a policy that is as strict',
      `matching: { case_sensitive: true }, ${limits('5/5min')}, policies: [{ name: a, match: { path: /login }, limits: [5/5min] }]`,
    ],
    ['spellings of a path if letter case does not matter', policies('{ path: /login }')],
  ])('%s', (_, sections) => expect(rulesIn(sections)).toEqual([]));

  test.each([
    ['a shorter window that is lower than its part', '10/1h, 5/1min'],
    ['a longer window that is lower than all of its parts', '10/1min, 599/1h'],
    [
      'a longer window that holds fewer than two whole ones',
      '{ rate: 10/1min, per: ip }, { rate: 19/61s, per: ip }',
    ],
    ['a longer window that unlisted keys fill, which have twice the limit', '10/1min, 1199/1h'],
    ['another per', '{ rate: 5/1h, per: ip }, 10/1min'],
    ['a counter of all clients', '{ rate: 5/1h, per: global }, 10/1min'],
    [
      'a limit that counts denied requests',
      '{ rate: 5/1h, per: ip }, { rate: 10/1min, per: ip, count_rejected: true }',
    ],
    ['a limit next to a token bucket', '{ rate: 5/1h, algorithm: token-bucket }, 10/1min'],
    ['a limit that factors cannot raise further', '100000/1min, 600000/2min'],
    ['a limit that clients with unlisted keys exceed', '300000/1min, 1000000/2min'],
  ])('%s', (_, text) => expect(rulesIn(limits(text))).not.toContain('limit-never-binds'));

  test('a limit whose clients of a plan have a higher one', () => {
    const of = (...rates: string[]) => rates.map((rate) => `{ rate: ${rate}, per: ip }`).join(', ');
    const lists = (plan: string) =>
      diagnosticsIn(
        `{ version: 1, default: { limits: [${of('5/1min', '10/2min')}], plans: { pro: [${plan}] } } }`,
      ).flatMap(({ rule, path }) => (rule === 'limit-never-binds' ? path : []));
    expect(lists(of('5/1min'))).toEqual(['default.limits[1]']);
    expect(lists(of('50/1min', '200/2min'))).toEqual(['default.plans.pro[1]']);
  });

  test('a limit whose clients of a plan do not have the lower one', () => {
    const text = (plan: string) =>
      rulesIn(
        `default: { limits: [{ rate: 5/1h, per: ip }, { rate: 10/1min, per: ip }], plans: { pro: [{ rate: ${plan}, per: ip }] } }`,
      ).filter((rule) => rule === 'limit-never-binds');
    expect(text('50/1min')).toEqual([]);
    expect(text('50/2min')).toEqual(['limit-never-binds']);
  });

  test.each([
    ['wide networks that are private', identity('trusted_proxies: [10.0.0.0/8, "fc00::/7"]')],
    [
      'public networks of one operator',
      identity('trusted_proxies: [104.16.0.0/13, "2a06:98c0::/29"]'),
    ],
    ['NAT64 of one network', identity('trusted_proxies: ["64:ff9b::c000:200/120"]')],
    [
      'a header from named networks',
      identity('sources: [{ header: x-real-ip, from: [192.0.2.0/24] }, ip]'),
    ],
    ['a wide network that is blocked', `${DEFAULT}, block: [64.0.0.0/2]`],
    ['private networks that are exempt', `${DEFAULT}, exempt: [private]`],
    ['long prefixes within a short one', identity('ip: { ipv6_prefixes: { 128: 1x, 64: 4x } }')],
    ['a prefix of 64 bits', identity('ip: { ipv6_prefix: 64 }')],
    [
      'a blocked network around an exempt address',
      `${DEFAULT}, exempt: [203.0.113.9], block: [203.0.113.0/24]`,
    ],
    [
      'a block that lasts longer than the exemption',
      `${DEFAULT}, exempt: [{ address: 203.0.113.0/24, expires: 2098-01-01 }], block: [{ address: 203.0.113.9, expires: 2099-01-01 }]`,
    ],
    [
      'a block of an address in two exempt halves',
      `${DEFAULT}, exempt: [203.0.113.0/25, 203.0.113.128/25], block: [203.0.113.0/24]`,
    ],
    [
      'a blocked key whose address is exempt',
      keyed(`${DEFAULT}, exempt: [private], block: [{ key: acme }]`),
    ],
    [
      'an entry that expires tomorrow',
      `${DEFAULT}, block: [{ address: 203.0.113.9, expires: 2026-12-02 }]`,
    ],
    [
      'a plan with keys and limits',
      `identity: { api_key: { keys: [{ ${KEY}, plan: pro }] } }, default: { limits: [1/1h], plans: { pro: [2/1h] } }`,
    ],
    ['large limits that are exact', limits('100000/1h')],
    ['an address that is not loopback', `${DEFAULT}, exempt: [128.0.0.1]`],
    ['a blocked loopback address', `${DEFAULT}, block: [loopback]`],
    [
      'authorization as user header without the source user',
      identity('user: { header: authorization }'),
    ],
    [
      'another user header',
      identity('sources: [user, ip], user: { header: x-authenticated-user }'),
    ],
    [
      'metadata of a filter that verifies tokens',
      identity('sources: [user], user: { metadata: envoy.filters.http.jwt_authn, claim: sub }'),
    ],
    ['authorization as key header', identity('api_key: { header: authorization }')],
    ['the home page next to every path', policies('{ path: / }', '{ path: "/*" }')],
  ])('%s', (_, sections) => expect(rulesIn(sections)).toEqual([]));
});

test('a counter with a limit of 50 is not small', () => {
  const counter = (limit: number) =>
    limits(`{ rate: ${limit}/1min, algorithm: sliding-window-counter }`);
  expect(rulesIn(counter(49))).toEqual(['approximate-small-limit']);
  expect(rulesIn(counter(50))).toEqual(['approximate-limit']);
});

test('an old list of Cloudflare networks is reported where the file trusts Cloudflare', () => {
  // The list of the tests was checked on 1 November 2026.
  const young = Date.parse('2027-01-30');
  const old = Date.parse('2027-01-31');
  const paths = (sections: string, nowMs: number) =>
    diagnosticsIn(`{ version: 1, ${sections} }`, 'policies.yaml', nowMs).map(
      ({ rule, path }) => `${rule} ${path}`,
    );
  const named = identity('sources: [api_key, cf_connecting_ip, ip]');
  expect(paths(named, young)).toEqual([]);
  expect(paths(named, old)).toEqual(['cloudflare-list-old identity.sources[1]']);
  // The default sources include it, but the file does not name it.
  expect(paths(DEFAULT, old)).toEqual([]);
  expect(paths(identity('sources: [ip]'), old)).toEqual([]);
  expect(paths(identity('sources: [ip], trusted_proxies: [loopback, cloudflare]'), old)).toEqual([
    'cloudflare-list-old identity.trusted_proxies[1]',
  ]);
  expect(paths(`${identity('sources: [ip]')}, block: [cloudflare]`, old)).toEqual([
    'cloudflare-list-old block[0]',
  ]);
});

test('tests only the first 500 policies', () => {
  const matches = Array.from({ length: 501 }, (_, i) => `{ method: NEVER, path: /${i} }`);
  const found = rulesIn(policies(...matches));
  expect(found.filter((rule) => rule === 'method-never-sent')).toHaveLength(500);
  expect(found.filter((rule) => rule === 'policies-not-tried')).toHaveLength(1);
});

test('an exempt loopback entry that has expired is only reported as expired', () => {
  const entry = '{ address: loopback, expires: 2026-01-01 }';
  expect(rulesIn(`${DEFAULT}, exempt: [${entry}]`)).toEqual(['entry-expired']);
});

test('an entry expires at its time', () => {
  const entry = '{ address: 203.0.113.9, expires: 2026-12-31 }';
  const end = Date.parse('2026-12-31');
  expect(rulesIn(`${DEFAULT}, block: [${entry}]`, end - 1)).toEqual([]);
  expect(rulesIn(`${DEFAULT}, block: [${entry}]`, end)).toEqual(['entry-expired']);
});

test('an expired block of an exempt client is only reported as expired', () => {
  const block = '{ address: 203.0.113.9, expires: 2026-01-01 }';
  expect(rulesIn(`${DEFAULT}, exempt: [203.0.113.9], block: [${block}]`)).toEqual([
    'entry-expired',
  ]);
});

test('an exemption that lasts as long as the block covers it', () => {
  const entry = '{ address: 203.0.113.9, expires: 2099-01-01 }';
  expect(rulesIn(`${DEFAULT}, exempt: [${entry}], block: [${entry}]`)).toEqual([
    'exempt-shadows-block',
  ]);
});

test('plans of keys that are not read are not reported', () => {
  const text = `identity: { sources: [ip], api_key: { keys: [{ ${KEY} }] } }`;
  expect(rulesIn(`${text}, default: { limits: [1/1h], plans: { pro: [2/1h] } }`)).toEqual([
    'keys-not-read',
  ]);
});

test.each([
  ['a listed key', `api_key: { keys: [{ ${KEY} }] }`, '1/1h'],
  ['a key of Redis', 'api_key: { keys: redis }', '1/1h'],
  ['a user', 'sources: [user, ip], user: { header: x-login }', '1/1h'],
  ['a verified header', 'verified_headers: [x-org]', '{ rate: 1/1h, per: "header:x-org" }'],
])('a plan that %s can have is read', (_, text, limit) => {
  const plan = 'plan: { metadata: envoy.filters.http.jwt_authn, claim: [payload, "a.b/plan"] }';
  const sections = `identity: { ${text}, ${plan} }, default: { limits: [${limit}], plans: { pro: [${limit}] } }`;
  expect(rulesIn(sections)).toEqual([]);
});

test('the header of the plan makes nobody known, nor does a header that clients write', () => {
  const of = (verified: string) =>
    rulesIn(
      `identity: { plan: { header: x-plan }, verified_headers: [x-plan${verified}] }, default: { limits: [{ rate: 1/1h, per: "header:x-plan" }, { rate: 1/1h, per: "header:x-org" }], plans: { pro: [9/1h] } }`,
    );
  expect(of('')).toEqual(['plan-without-effect']);
  expect(of(', x-org')).toEqual([]);
});

test('metadata of users without the source user is not read, whoever writes it', () => {
  expect(rulesIn(identity('user: { metadata: envoy.lb, claim: user }'))).toEqual(['user-not-read']);
});

test('a claim is one name with a dot only where a filter has names inside names', () => {
  const of = (metadata: string, claim: string) =>
    rulesIn(
      `${DEFAULT}, identity: { sources: [user, ip], user: { metadata: ${metadata}, claim: ${claim} } }`,
    );
  expect(of('envoy.filters.http.jwt_authn', 'payload.sub')).toEqual(['claim-with-dot']);
  expect(of('envoy.filters.http.jwt_authn', '[payload, "https://a.example/plan"]')).toEqual([]);
  expect(of('envoy.filters.http.jwt_authn', '"https://a.example/plan"')).toEqual([]);
  expect(of('my.filter', 'payload.sub')).toEqual([]);
});

test('a plan is suggested only if keys have it and policies, too', () => {
  const found = (keys: readonly string[], ...plans: string[]) => {
    const listed = keys.map(
      (plan) => `{ id: ${plan}, plan: ${plan}, sha256: ${hash('sha256', plan, 'hex')} }`,
    );
    const entries = plans.map(
      (plan, i) =>
        `{ name: p${i}, match: { path: /${i} }, limits: [1/1h], plans: { ${plan}: [9/1h] } }`,
    );
    const sections = `identity: { api_key: { keys: [${listed.join(', ')}] } }, ${DEFAULT}, policies: [${entries.join(', ')}]`;
    return diagnosticsIn(`{ version: 1, ${sections} }`).map(
      ({ path, message }) => `${path}: ${message}`,
    );
  };
  const unknown =
    'identity.api_key.keys[0].plan: no policy has limits for the plan "premuim" of the key "premuim"';
  const unheld = (at: number, plan: string) =>
    `policies[${at}].plans.${plan}: no listed key has this plan`;
  expect(found(['premuim'], 'premium', 'premum')).toEqual([
    unknown,
    unheld(0, 'premium'),
    unheld(1, 'premum'),
  ]);
  expect(found(['premuim', 'premium'], 'premium', 'premum')).toEqual([
    `${unknown}, did you mean "premium"?`,
    `${unheld(1, 'premum')}, did you mean "premium"?`,
  ]);
});

test('an unknown plan of a key file is reported where the file is named', () => {
  const text = `{ version: 1, identity: { api_key: { keys: keys.yaml } }, ${DEFAULT} }`;
  const context = policyFileContext(`- { ${KEY}, plan: pro }`);
  const { file } = validatePolicyFile(text, 'policies.yaml', context);
  expect(adviceOnKeys(file)).toEqual([
    {
      rule: 'plan-unknown',
      path: ['identity', 'api_key', 'keys'],
      message: 'no policy has limits for the plan "pro" of the key "acme"',
    },
  ]);
});

test('an exempt IPv4 address covers its NAT64 address', () => {
  const lists = 'exempt: [192.0.2.9], block: ["64:ff9b::c000:209"]';
  expect(rulesIn(`${DEFAULT}, ${lists}`)).toEqual(['exempt-shadows-block']);
});

test('a laxer policy for the path info of a script is reported, and one as strict is not', () => {
  const php = (rate: string) =>
    rulesIn(
      `${DEFAULT}, policies: [{ name: a, match: { path: /login.php }, limits: [5/1h] }, { name: b, match: { path: "/login.php/*" }, limits: [${rate}] }]`,
    ).filter((rule) => rule === 'path-info');
  expect(php('9/1h')).toEqual(['path-info']);
  expect(php('5/1h')).toEqual([]);
});
