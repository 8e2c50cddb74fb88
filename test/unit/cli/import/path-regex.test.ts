import { expect, test } from 'vitest';
import { templatesOf } from '../../../../src/cli/import/shared/path-regex.ts';

test.each<[string, string[] | undefined]>([
  ['^/login$', ['/login']],
  ['^/login/?$', ['/login']],
  ['^/api/', ['/api/*']],
  ['^/api', ['/api/*']],
  ['^/api/.*', ['/api/*']],
  ['^/api/(.*)$', ['/api/*']],
  ['^/something(/|$)(.*)', ['/something/*']],
  ['^/users/\\d+$', ['/users/:p2']],
  ['^/users/[0-9]+/posts', ['/users/:p2/posts/*']],
  ['^/users/(?<id>\\d+)/avatar$', ['/users/:p2/avatar']],
  ['^/users/([^/]+)$', ['/users/:p2']],
  ['^/(login|register)$', ['/login', '/register']],
  ['^/(?:a|b)/(c|d)$', ['/a/c', '/a/d', '/b/c', '/b/d']],
  ['^/v(1|2)/x$', ['/v1/x', '/v2/x']],
  ['^/robots\\.txt$', ['/robots.txt']],
  ['^/', ['/*']],
  ['^/$', ['/']],
  ['^.*$', ['/*']],
  // A part of a segment is any text, if another segment is literal.
  ['^/v\\d+/x$', ['/:p1/x']],
  ['^/api/v./crates/new$', ['/api/:p2/crates/new']],
  ['^/api/v[12]?/x', ['/api/:p2/x/*']],
  ['^/user-\\d+$', undefined],
  // The dot of a file name, and an expression without a start.
  ['^/robots.txt$', ['/robots.txt']],
  ['^/(robots.txt|sitemap.xml)$', ['/robots.txt', '/sitemap.xml']],
  ['/login', ['/login/*']],
  ['wp-login.php$', ['/wp-login.php']],
  ['login', undefined],
  // A part of a segment, a dot for any character, no start, look-arounds, and the like.
  ['\\.php$', undefined],
  ['^/(?!internal)', undefined],
  ['^/a+$', undefined],
  ['^/a?$', undefined],
  ['^/[ab]c$', undefined],
  ['^/.*/edit$', undefined],
  ['^(?i)/login$', undefined],
  ['^/a|/b$', undefined],
  ['^login$', undefined],
  [`^/${'(a|b)'.repeat(20)}$`, undefined],
  [`^/${'a'.repeat(600)}$`, undefined],
])('%s', (expression, templates) => {
  expect(templatesOf(expression)?.templates).toEqual(templates);
});

test.each<[string, boolean, boolean]>([
  ['^/users/[^/]+/posts$', false, false],
  ['^/files/(.*)$', false, false],
  ['^/users/\\d+$', true, false],
  ['^/users/([a-z]+)$', true, false],
  ['^/api/v./x$', true, false],
  ['^/robots.txt$', false, true],
  ['^/a/.+/b$', false, true],
  ['/login', false, true],
])('the paths of %s are more: %s, fewer: %s', (expression, isWider, isNarrower) => {
  expect(templatesOf(expression)).toMatchObject({ isWider, isNarrower });
});
