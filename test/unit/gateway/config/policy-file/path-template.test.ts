/** Paths, hosts and methods of policies: patterns are refused with a remedy that works, and literal characters match. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  checkHostTemplate,
  checkMethodName,
} from '../../../../../src/gateway/config/policy-file/match.ts';
import { checkPathTemplate } from '../../../../../src/gateway/config/policy-file/path-template.ts';
import { policySetFrom } from '../../../../support/policies.ts';

function mistakeIn(check: (text: string) => string, text: string): string | undefined {
  try {
    check(text);
    return undefined;
  } catch (error) {
    if (error instanceof RangeError) return error.message;
    throw error;
  }
}

/** What a message says to write in place of the whole path or host. */
function remediesIn(message: string): string[] {
  const [, advice = ''] = /: write (?:one policy for each of )?("[^;]*")/.exec(message) ?? [];
  return [...advice.matchAll(/"([^"]*)"/g)].map(([, each = '']) => each);
}

/** The policies that a request is held to, where one has this path. */
function policiesFor(path: string, target: string): string[] {
  const policy = JSON.stringify({ name: 'it', match: { path }, limits: ['5/5min'] });
  const set = policySetFrom(`{ version: 1, default: { limits: [9/1h] }, policies: [${policy}] }`);
  const request = { method: 'GET', host: 'a.example', policy: undefined, missing: [] };
  return set.policiesFor({ ...request, target }).map(({ name }) => name);
}

/** From regular expressions, globs, NGINX, Express, Spring, Flask, Next.js, Rails, API Gateway, gRPC, OData, shells. */
const PATTERNS: readonly [string, readonly string[]][] = [
  ['/api/v[0-9]+/login', ['/api/:name/login']],
  ['/api/{id}/login', ['/api/:id/login']],
  ['/users/<id>', ['/users/:id']],
  ['/users/<int:user_id>/x', ['/users/:user_id/x']],
  ['/a/(b|c)', ['/a/b', '/a/c']],
  ['/a/(?:b|c)/d', ['/a/b/d', '/a/c/d']],
  ['/a/{b,c}', ['/a/b', '/a/c']],
  ['/a.(json|xml)', ['/a.json', '/a.xml']],
  ['/a|/b', ['/a', '/b']],
  ['/a, /b', ['/a', '/b']],
  ['/x$', ['/x']],
  ['^/x$', ['/x']],
  ['^/x/?$', ['/x']],
  ['/x/**', ['/x/*']],
  ['/x/**/y', []],
  ['/x/.*', ['/x/*']],
  ['/x/.+', ['/x/*']],
  ['/x/(.*)', ['/x/*']],
  ['/x*', []],
  ['/x/*/y', ['/x/:name/y']],
  ['/{proxy+}', ['/*']],
  ['/x/{*rest}', ['/x/*']],
  ['/x/{rest:.*}', ['/x/*']],
  ['/x/:rest*', ['/x/*']],
  ['/x/*rest', ['/x/*']],
  ['/x/[...slug]', ['/x/*']],
  ['/x/[slug]', ['/x/:slug']],
  ['/{year:[0-9]{4}}/z', ['/:year/z']],
  ['/(?<year>\\d+)/z', ['/:year/z']],
  ['/(?P<year>[0-9]+)/z', ['/:year/z']],
  ['/x/\\d+', ['/x/:name']],
  ['/[^/]+/x', ['/:name/x']],
  ['/:id(\\d+)', ['/:id']],
  ['/a/:id?', ['/a', '/a/:id']],
  ['/v1/{name=shelves/*}', ['/v1/:name/*']],
  ['/v1/things:batch', ['/v1/:name']],
  ['/:id-:name', ['/:name']],
  ['/Customers(1)', ['/:name']],
  ['/users/$id', ['/users/:id']],
  [`/users/$\{id}`, ['/users/:id']],
  ['/users/{{id}}', ['/users/:id']],
  ['/login\\.php', ['/login.php']],
  ['\\/login', ['/login']],
  ['~ ^/x$', ['/x']],
  ['~ ^/x', ['/x/*']],
  ['~* \\.php$', []],
  ['= /x', ['/x']],
  ['^~ /x/', ['/x/*']],
  ['a/b', ['/a/b']],
  ['*', ['/*']],
  ['/x?a=b', ['/x']],
  ['/x#a', ['/x']],
  ['/x/?', ['/x']],
  ['/x ', ['/x']],
  ['PathPrefix(`/x`)', []],
  ['/(a|b)/(c|d)/(e|f)', []],
  ['/x{1,3}', ['/:name']],
  ['/a`b', ['/:name']],
  ['/"a"', ['/:name']],
  ['/a\\b', ['/:name']],
  // Its remedy would look like two paths.
  ['/,\\//a', []],
];

describe('patterns in a path', () => {
  test.each(PATTERNS)('%s is refused: write %j', (text, expected) => {
    const message = mistakeIn(checkPathTemplate, text);
    expect(message).toBeDefined();
    const remedies = remediesIn(message ?? '');
    expect(remedies).toEqual(expected);
    expect(remedies.map((each) => mistakeIn(checkPathTemplate, each))).toEqual(
      remedies.map(() => undefined),
    );
  });

  test.each([
    ['POST /login', '"method: POST" and "path: /login"'],
    ['https://a.example:8443/x?y', '"host: a.example" and "path: /x"'],
  ])('%s belongs in several keys', (text, remedy) => {
    expect(mistakeIn(checkPathTemplate, text)).toContain(remedy);
  });

  test.each(['/*.php', '*.php', '/files/*.pdf', '\\.php$', '~* \\.(jpg|png)$', '/.*\\.js$'])(
    '%s is not taken for everything',
    (text) => {
      const message = mistakeIn(checkPathTemplate, text);
      expect(message).toContain('selects paths by how they end');
      expect(message).not.toContain('"/*"');
    },
  );

  test.each([
    ['/users/{id} }', 'nothing opens: write "/users/:id"'],
    ['/users }}', 'nothing opens: write "/users"'],
    ['\u201c/login\u201d', 'has typographic quotes'],
  ])('%s has a character too many', (text, why) => {
    expect(mistakeIn(checkPathTemplate, text)).toContain(why);
  });

  const part = fc.constantFrom(
    ...[
      'a',
      'id',
      '{',
      '}',
      '[',
      ']',
      '(',
      ')',
      '<',
      '>',
      '$',
      '^',
      '+',
      '|',
      '\\',
      ':',
      '*',
      '**',
    ],
    ...[
      '?',
      '#',
      '.',
      '..',
      '...',
      '/',
      '//',
      '%',
      '%2',
      '%28',
      '%2f',
      ' ',
      '"',
      '`',
      '~',
      '=',
      ',',
    ],
  );
  test('whatever the path, either it matches itself or the mistake names a path that is fine', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const text = `/${parts.join('')}`;
        const message = mistakeIn(checkPathTemplate, text);
        if (message === undefined) {
          const segments = text.split('/').map((each) => (/^:|^\*$/.test(each) ? 'z' : each));
          expect(policiesFor(text, segments.join('/'))).toContain('it');
        } else {
          for (const each of remediesIn(message)) {
            if (each.startsWith('/')) expect(mistakeIn(checkPathTemplate, each)).toBeUndefined();
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('a literal character in a path, written with a percent sign, matches', () => {
  test.each([
    ['/a%28b%29', ['/a(b)', '/a%28b%29', '/A%28b)', '//a%28b%29/']],
    ['/v1/things%3Abatch', ['/v1/things:batch', '/v1/things%3abatch']],
    ['/%24metadata', ['/$metadata', '/%24metadata']],
    ['/c%2B%2B/:page', ['/c++/x', '/c%2b%2b/x']],
    ['/%7Bid%7D/*', ['/{id}', '/%7Bid%7D/a/b', '/{id}/a']],
    ['/a%5Bb%5D%5E%7C%3C%3E/:x', ['/a[b]^|<>/1', '/a%5Bb%5D%5E%7C%3C%3E/1']],
    ['/50%25', ['/50%25']],
    ['/caf%C3%A9/log%20in', ['/caf%c3%a9/log%20in']],
    ['/%61pi', ['/api', '/%61pi']],
  ])('%s', (path, targets) => {
    for (const target of targets) expect(policiesFor(path, target)).toContain('it');
    expect(policiesFor(path, '/ab/c')).toEqual(['default']);
  });

  test.each([
    '/a%2Ab',
    '/%2A',
    '/%3Aid',
    '/a%3Fb',
    '/a%23b',
    '/a%2Fb',
    '/a%5cb',
    '/a%00',
    '/%2e%2e/a',
  ])('%s cannot, and is refused', (path) =>
    expect(mistakeIn(checkPathTemplate, path)).toBeDefined(),
  );

  test('for every character that may be escaped', () => {
    for (let code = 0x20; code < 0x7f; code++) {
      const encoded = `%${code.toString(16)}`;
      const path = `/a${encoded}b/:id`;
      if (mistakeIn(checkPathTemplate, path) !== undefined)
        expect('*?#/\\;').toContain(decodeURIComponent(encoded));
      else expect(policiesFor(path, `/a${encoded}b/7`)).toContain('it');
    }
  });
});

test.each([
  ['https://api.example.com/x', ['api.example.com']],
  ['API.Example.com', ['api.example.com']],
  ['api.example.com:443', ['api.example.com']],
  ['api.example.com.', ['api.example.com']],
  ['.example.com', ['*.example.com']],
  ['{tenant}.example.com', ['*.example.com']],
  ['.*\\.example\\.com', ['*.example.com']],
  ['[^.]+.example.com', ['*.example.com']],
  ['^api\\.example\\.com$', ['api.example.com']],
  ['~^api\\.example\\.com$', ['api.example.com']],
  ['a.example|b.example', ['a.example', 'b.example']],
  ['bücher.example', ['xn--bcher-kva.example']],
  ['*example.com', ['*.example.com']],
  ['*.com:80', []],
  ['api*.com', []],
  ['api.*', []],
  ['*.*', []],
  ['*', []],
  ['a_b', []],
  ['[::1]:80', []],
])('the host %s is refused: write %j', (text, expected) => {
  const message = mistakeIn(checkHostTemplate, text) ?? '';
  expect(message).not.toBe('');
  expect(remediesIn(message)).toEqual(expected);
  for (const each of remediesIn(message))
    expect(mistakeIn(checkHostTemplate, each)).toBeUndefined();
});

test.each([
  ['get', 'write GET'],
  ['GET|POST', 'write [GET, POST]'],
  ['GET, POST', 'write [GET, POST]'],
  ['(get|post)', 'write [GET, POST]'],
  ['*', 'leave out "method"'],
  ['ANY', 'leave out "method"'],
  ['G.*', 'upper-case method'],
])('the method %s is refused: %s', (text, remedy) => {
  expect(mistakeIn(checkMethodName, text)).toContain(remedy);
});

test.each([
  ['/api/login\u200b', 'U+200B: remove it'],
  ['/api/\u00adlogin', 'U+00AD: remove it'],
  ['/api/\u202elogin', 'U+202E: remove it'],
  ['/api/sign\u2010in', 'write "-"'],
  ['/api/sign\u2212in', 'write "-"'],
  ['/api/l\u043egin', 'mixes alphabets'],
  ['/api/\u03bfauth', 'mixes alphabets'],
])('a path with a character that looks like another, %j, is refused', (path, remedy) => {
  expect(() => checkPathTemplate(path)).toThrow(remedy);
});

test.each(['/caf\u00e9', '/\u043b\u043e\u0433\u0438\u043d', '/api/\u767b\u5f55', '/api/sign-in'])(
  'a path of one alphabet, %j, is fine',
  (path) => {
    expect(() => checkPathTemplate(path)).not.toThrow();
  },
);
