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
    send(target: string, { times = 1, method = 'GET', status = 200, isPerson = true } = {}) {
      for (let i = 0; i < times; i++) {
        const group = finder.groupOf({ ...REQUEST, method, target }, status >= 400) ?? 0;
        if (isPerson) uses[group] = (uses[group] ?? 0) + 1;
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

describe('routes that people use stay', () => {
  const USED = ['GET /items/:id', 'GET /search', 'POST /api/login', 'everything else'];
  const use = ({ send }: ReturnType<typeof finderOf>, times: number, from = 0) => {
    for (let i = from; i < from + times; i++) {
      send('/search');
      send(`/items/${i}`);
      send('/api/login', { method: 'POST', status: i % 3 === 0 ? 401 : 200 });
    }
  };

  test('after a scan for paths that the site does not have', () => {
    const found = finderOf();
    for (let i = 0; i < 5_000; i++) found.send(`/${letters(i)}`, { status: 404 });
    use(found, 400);
    expect(found.titles()).toEqual(USED);
    expect(found.finder.dropped).toBe(0);
  });

  test('after and during a scan of a site that answers every path with a page', () => {
    const found = finderOf();
    for (let i = 0; i < 5_000; i++) found.send(`/${letters(i)}`);
    for (let i = 5_000; i < 20_000; i++) {
      found.send(`/${letters(i)}/${letters(7 * i)}`);
      if (i % 30 === 0) use(found, 1, i / 30);
    }
    expect(found.titles()).toEqual(USED);
    expect(found.finder.dropped).toBeGreaterThan(10_000);
  });

  test('after a scan below a folder', () => {
    const found = finderOf();
    for (let i = 0; i < 5_000; i++) found.send(`/api/${letters(i)}`);
    use(found, 400);
    expect(found.titles()).toEqual(['GET /api/:id', ...USED]);
  });

  test('beside more paths than a tree has', () => {
    const found = finderOf();
    use(found, 400);
    for (let i = 0; i < 110_000; i++) {
      found.send(`/x${letters(i % 90)}/${letters(i % 199)}/${letters(i)}`, { isPerson: false });
    }
    use(found, 400);
    expect(found.titles()).toEqual(USED);
  });
});

describe('parameters stand for', () => {
  test('languages and countries that lead to the same pages', () => {
    const locales = ['de', 'en-us', 'fr', 'zh_hans', 'es-419'];
    const pages = locales.flatMap((locale) => [
      `/${locale}/offers`,
      `/${locale.toUpperCase()}/cart`,
    ]);
    expect(titlesOf(pages, 100)).toEqual(['GET /:id/cart', 'GET /:id/offers', 'everything else']);
  });

  test('no two letters that lead elsewhere', () => {
    expect(titlesOf(['/me/orders', '/my/offers', '/tv'])).toEqual([
      'GET /me/orders',
      'GET /my/offers',
      'GET /tv',
      'everything else',
    ]);
  });

  test('small sets of values, if each is too small for limits', () => {
    expect(titlesOf(['/shop/men', '/shop/women'], 200)).toEqual([
      'GET /shop/:id',
      'everything else',
    ]);
    expect(titlesOf(['/shop/men/shoes', '/shop/women/shoes', '/shop/women/hats'], 200)).toEqual([
      'GET /shop/:id/shoes',
      'everything else',
    ]);
  });

  test('only those values of a set that are too small', () => {
    const found = finderOf();
    found.send('/shop/sale', { times: 1_000 });
    for (const each of ['men', 'women']) found.send(`/shop/${each}`, { times: 200 });
    found.send('/about', { times: 200 });
    expect(found.titles()).toEqual(['GET /shop/:id', 'GET /shop/sale', 'everything else']);
  });
});

/** Without digits, so that only their number tells that these are identifiers. */
function letters(number: number): string {
  return number.toString(26).replace(/\d/g, (digit) => String.fromCharCode(113 + Number(digit)));
}
