import { describe, expect, test } from 'vitest';
import { isIdentifier } from '../../../../../src/cli/evidence/suggest/identifier.ts';
import { findPathRoutes } from '../../../../../src/cli/evidence/suggest/path-routes.ts';
import { policySetFrom } from '../../../../support/policies.ts';

const REQUEST = {
  ...{ method: 'GET', host: '', headers: {}, policy: undefined, requestId: undefined, missing: [] },
  addresses: {
    ...{ proxy: '', peer: undefined, client: undefined, forwardedFor: undefined },
    ...{ forwarded: undefined, headers: [] },
  },
};

/** A finder, and how many requests its groups have. */
function finderOf() {
  const finder = findPathRoutes();
  const uses = new Float64Array(100_000);
  return {
    finder,
    send(target: string, { times = 1, method = 'GET', status = 200 } = {}) {
      for (let i = 0; i < times; i++) {
        const group = finder.groupOf({ ...REQUEST, method, target }, status >= 400) ?? 0;
        uses[group] = (uses[group] ?? 0) + 1;
      }
    },
    routes: () => finder.routes(uses).routes,
    titles: () =>
      finder
        .routes(uses)
        .routes.map(({ title }) => title)
        .sort(),
  };
}

/** The titles of the routes of requests, each sent `times`. */
function titlesOf(targets: readonly string[], times = 300, method = 'GET'): string[] {
  const found = finderOf();
  for (const target of targets) found.send(target, { times, method });
  return found.titles();
}

test.each([
  '17',
  '2026-11-22',
  'order-10432',
  '123e4567-e89b-12d3-a456-426614174000',
  '5e0024918cef',
  'dgvzda-x7k2q9mz4rt8',
  'alice@example.com',
  'a b',
])('%s is an identifier', (segment) => {
  expect(isIdentifier(segment)).toBe(true);
});

test.each(['users', 'v2', 'api', 'password-reset', 'oauth2', 'site.css', 'internationalization'])(
  '%s is a word',
  (segment) => {
    expect(isIdentifier(segment)).toBe(false);
  },
);

describe('routes from paths', () => {
  test('have parameters for identifiers, each with its own name', () => {
    expect(titlesOf(['/users/17/files/4', '/users/18/files/5?a=b', '/USERS/19/files/6'])).toEqual([
      'GET /users/:id/files/:id2',
      'everything else',
    ]);
  });

  test('have a parameter for a segment with many rare values', () => {
    const posts = Array.from({ length: 60 }, (_, i) => `/blog/${WORDS[i % 8]}-${WORDS[i >> 3]}`);
    expect(titlesOf(posts, 20)).toEqual(['GET /blog/:id', 'everything else']);
  });

  test('keep frequent values beside a parameter', () => {
    const posts = Array.from({ length: 60 }, (_, i) => `/blog/${WORDS[i % 8]}-${WORDS[i >> 3]}`);
    expect(titlesOf([...posts, ...Array(50).fill('/blog/latest')], 20)).toContain(
      'GET /blog/latest',
    );
  });

  test('put assets of one folder together', () => {
    const assets = ['/static/a.css', '/static/js/b.js?v=1', '/static/img/icons/c.png'];
    expect(titlesOf(assets, 200)).toEqual(['GET /static/*', 'everything else']);
    expect(titlesOf(['/favicon.ico'])).toEqual(['everything else']);
  });

  test('end in * if they are deep', () => {
    expect(titlesOf(['/a/b/c/d/e/f/g/h/i/j'])).toContain('GET /a/b/c/d/e/f/g/h/*');
  });

  test('fold into the default if they have few requests', () => {
    expect(titlesOf(['/rare'], 299)).toEqual(['everything else']);
  });

  test('count HEAD as GET, and unknown methods as the default', () => {
    expect(titlesOf(['/a'], 300, 'HEAD')).toContain('GET /a');
    expect(titlesOf(['/a'], 300, 'PURGE')).toEqual(['everything else']);
  });

  test('are none for a path that a gateway refuses', () => {
    expect(findPathRoutes().groupOf({ ...REQUEST, target: '/a%00b' }, false)).toBeUndefined();
  });

  test('are valid policies, whatever the paths are', () => {
    const odd = [
      '/',
      '/a.b/~c/-',
      '/a*b/*',
      '/:x/y',
      '/%7Bid%7D',
      '/ä/ö',
      '/con(1)',
      '/a+b',
      '//x',
    ];
    const found = finderOf();
    for (const target of [...odd, ...odd.map((each) => `/deep${each}`)]) {
      found.send(target, { times: 300 });
    }
    const policies = found
      .routes()
      .flatMap(({ name, match }) =>
        match === undefined ? [] : { name, match: { path: match.path }, limits: ['1/1s'] },
      );
    expect(policies.length).toBeGreaterThan(5);
    const file = { version: 1, default: { limits: ['1/1s'] }, policies };
    expect(() => policySetFrom(JSON.stringify(file))).not.toThrow();
  });
});

const WORDS = ['red', 'green', 'blue', 'north', 'south', 'east', 'west', 'up'];

test('many paths become few routes', () => {
  const paths = Array.from({ length: 5_000 }, (_, i) => `/shop/${letters(i)}/${letters(i * 7)}`);
  expect(titlesOf(paths, 1)).toEqual(['GET /shop/:id/:id2', 'everything else']);
});

/** Without digits, so that only their number tells that these are identifiers. */
function letters(number: number): string {
  return number.toString(26).replace(/\d/g, (digit) => String.fromCharCode(113 + Number(digit)));
}
