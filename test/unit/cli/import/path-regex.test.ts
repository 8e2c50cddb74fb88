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
  // A part of a segment, a dot for any character, no start, look-arounds, and the like.
  ['^/v\\d+/x$', undefined],
  ['^/robots.txt$', undefined],
  ['\\.php$', undefined],
  ['/login', undefined],
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
  expect(templatesOf(expression)).toEqual(templates);
});
