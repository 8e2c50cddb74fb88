import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalPath } from '../../../../../src/gateway/core/path/path.ts';
import { policySetFrom } from '../../../../support/policies.ts';
import { checkRequest } from '../../../../support/requests.ts';
import { readingsOfUndecodable, UNDECODABLE } from '../../../../support/undecodable.ts';

const POLICIES = `
default: { limits: [1000/1h] }
policies:
  - { name: login, match: { method: POST, path: /api/auth/login }, limits: [5/5min] }
  - { name: register, match: { method: POST, path: /api/auth/register }, limits: [1/1h] }
  - { name: auth, match: { path: "/api/auth/*" }, limits: [50/1h] }
  - { name: posts, match: { path: /users/:id/posts }, limits: [60/1h] }
  - { name: user, match: { path: /users/:id }, limits: [70/1h] }
  - { name: me, match: { path: /users/me }, limits: [7/1h] }
  - { name: shop, match: { host: shop.example.com, path: /cart }, limits: [8/1h] }
  - { name: shops, match: { host: "*.example.com", path: /cart/items }, limits: [9/1h] }
  - { name: home, match: { method: GET, path: / }, limits: [10/1h] }
  - { name: percent, match: { path: /100%25 }, limits: [11/1h] }
  - { name: files, match: { path: "/files/*" }, limits: [12/1h] }
  - { name: cafe, match: { path: /café/menu }, limits: [14/1h] }
  - { name: admin, always: true, match: { path: "/admin/*" }, limits: [13/1h] }
  - { name: writes, always: true, match: { method: POST }, limits: [100/1min] }`;
const SET = policySetFrom(`version: 1${POLICIES}`);
const CASES = policySetFrom(`version: 1\nmatching: { case_sensitive: true }${POLICIES}`);

interface Line {
  readonly method: string;
  readonly host: string;
  readonly target: string;
}

/** Each has the policy of its name. */
const REQUESTS: Readonly<Record<string, Line>> = {
  login: { method: 'POST', host: 'h', target: '/api/auth/login' },
  register: { method: 'POST', host: 'h', target: '/api/auth/register' },
  auth: { method: 'GET', host: 'h', target: '/api/auth/other' },
  posts: { method: 'GET', host: 'h', target: '/users/7/posts' },
  user: { method: 'GET', host: 'h', target: '/users/7' },
  me: { method: 'GET', host: 'h', target: '/users/me' },
  shop: { method: 'GET', host: 'shop.example.com', target: '/cart' },
  shops: { method: 'GET', host: 'a.example.com', target: '/cart/items' },
  percent: { method: 'GET', host: 'h', target: '/100%25' },
  files: { method: 'GET', host: 'h', target: '/files/a/b' },
  cafe: { method: 'GET', host: 'h', target: '/caf%c3%a9/menu' },
  admin: { method: 'GET', host: 'h', target: '/admin/x' },
};

function policies(line: Line, set = SET): string[] {
  return set.policiesFor(checkRequest(line)).map(({ name }) => name);
}

/** The target with the bytes at each place. Escapes stay whole, and no others come about, such as `%2` before an `a`. */
function withBytes(target: string, bytes: string): string[] {
  const parts = target.slice(1).match(/(?:%[c-f][0-9a-f])?%[0-9a-f]{2}|./gis) ?? [];
  return [...parts.keys(), parts.length]
    .map((i) => `/${parts.toSpliced(i, 0, bytes).join('')}`)
    .filter((each) => escapesOf(each) === escapesOf(target) + escapesOf(bytes));
}

function escapesOf(text: string): number {
  return text.match(/%u[0-9a-f]{4}|%[0-9a-f]{2}/gi)?.length ?? 0;
}

describe('undecodable bytes at any place of its path do not evade a policy:', () => {
  test.each(Object.entries(REQUESTS))('%s', (name, line) => {
    for (const set of [SET, CASES]) {
      const missed = UNDECODABLE.flatMap((bytes) =>
        withBytes(line.target, bytes).filter(
          (target) => !policies({ ...line, target }, set).includes(name),
        ),
      );
      expect(missed).toEqual([]);
    }
  });

  test('several of them, at several places, with other spellings', () => {
    const inserted = fc.array(
      fc.tuple(fc.nat(40), fc.constantFrom(...APART, '/', '/./', '/x/../', '%61%ff/../', '.')),
      { minLength: 1, maxLength: 4 },
    );
    fc.assert(
      fc.property(fc.constantFrom(...Object.entries(REQUESTS)), inserted, ([, line], parts) => {
        const target = parts.reduce(
          (text, [at, bytes]) => `/${text.slice(1, at)}${bytes}${text.slice(Math.max(1, at))}`,
          line.target,
        );
        const applied = policies({ ...line, target });
        // Refused.
        if (applied.length === 0) return;
        for (const reading of readingsOfUndecodable(target).filter(isPlain)) {
          const { path } = canonicalPath(reading, false);
          const needed = policies({ ...line, target: path });
          const evaded = needed.filter((each) => each !== 'default' && !applied.includes(each));
          expect(evaded, `${target} read as ${reading}`).toEqual([]);
        }
      }),
      { numRuns: 5_000, seed: 20_261_126 },
    );
  });
});

/** Others could make characters of each other. */
const APART = UNDECODABLE.filter((bytes) => !/%[89a-f](?!f)|\xc3/i.test(bytes));

/** What else is in a path has readings of its own. */
function isPlain(path: string): boolean {
  return /^[!-$&->@-~]*$/.test(path);
}

describe('a policy does not count a path that it does not fit:', () => {
  test.each([
    ['GET', '/100%', ['percent']],
    ['POST', '/search/50%off', ['default', 'writes']],
    ['GET', '/stra%DFe', ['default']],
    ['POST', '/a%zz', ['default', 'admin', 'writes']],
    ['GET', '/%ff', ['default', 'home', 'percent', 'files', 'admin']],
    ['POST', '/api/%ff', ['default', 'auth', 'writes']],
    ['GET', '/api/auth/lo%ffgin', ['auth']],
    ['POST', '/api/auth/lo%ffgix', ['auth', 'writes']],
    ['POST', '/api/auth/login/%ff', ['auth', 'login', 'writes']],
    ['POST', '/api/auth/%ff', ['auth', 'login', 'register', 'writes']],
    ['GET', '/users/%ff', ['user', 'me']],
    ['GET', '/users/7/p%ffsts', ['default', 'posts']],
    ['GET', '/users/me/%ffposts', ['default', 'posts', 'me']],
    ['GET', '/c%ffart', ['default']],
    ['GET', '/adm%ffi', ['default']],
  ])('%s %s', (method, target, expected) => {
    const applied = policies({ method, host: 'h', target });
    expect(applied.toSorted()).toEqual(expected.toSorted());
  });

  test('of another method, host or first segment', () => {
    const bytes = fc.constantFrom(...UNDECODABLE);
    const text = fc.stringMatching(/^[g-z]{0,5}$/);
    const target = fc
      .array(fc.tuple(text, bytes, text), { minLength: 1, maxLength: 4 })
      .map((segments) => `/zz${segments.map((each) => each.join('')).join('/')}`);
    fc.assert(
      fc.property(target, fc.constantFrom('GET', 'POST'), (odd, method) => {
        const expected = method === 'POST' ? ['default', 'writes'] : ['default'];
        expect(policies({ method, host: 'shop.example.com', target: odd })).toEqual(expected);
      }),
      { numRuns: 2_000, seed: 20_261_126 },
    );
  });
});

test('of many policies that a path may belong to, the closest apply', () => {
  const many = Array.from({ length: 40 }, (_, i) => {
    return `  - { name: p${i}, match: { path: /p${'x'.repeat(i)} }, limits: [9/1h] }`;
  });
  const set = policySetFrom(
    `version: 1\ndefault: { limits: [1000/1h] }\npolicies:\n${many.join('\n')}`,
  );
  expect(policies({ method: 'GET', host: 'h', target: '/px%ff' }, set)).toEqual([
    'default',
    ...Array.from({ length: 16 }, (_, i) => `p${i + 1}`),
  ]);
});

test('a path that takes too many comparisons is refused', () => {
  const many = Array.from({ length: 120 }, (_, i) => {
    return `  - { name: p${i}, match: { path: /p${i}/:id/a }, limits: [9/1h] }`;
  });
  const set = policySetFrom(
    `version: 1\ndefault: { limits: [1000/1h] }\npolicies:\n${many.join('\n')}`,
  );
  const line = { method: 'GET', host: 'h' };
  expect(policies({ ...line, target: '/p1%ff/b' }, set)).toEqual(['default']);
  expect(policies({ ...line, target: '/p%ff/b' }, set)).toEqual([]);
});
