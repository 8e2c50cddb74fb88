/** What a server does to the check of headgate. The real NGINX confirms it in test/e2e. */
import { describe, expect, test } from 'vitest';
import { idsIn } from '../../../../support/nginx-findings.ts';

const policies = 'version: 1\nidentity: { sources: [ip] }\ndefault: { limits: [100/1h] }\n';
const LOCATION = 'location / { include headgate-location.conf; proxy_pass http://127.0.0.1:3000; }';
const SERVER = 'include headgate-server.conf;';

/** `lines` stand at line 2. */
const idsOf = (http: string, hasOldParts: boolean) => idsIn({ policies, http, hasOldParts });
const above = (lines: string) => `server {\n${lines}\n${SERVER} ${LOCATION} }`;
const below = (lines: string) => `server { ${SERVER}\n${lines}\n${LOCATION} }`;

describe.each([
  'rewrite ^([^.]*[^/])$ $1/ permanent;',
  'rewrite ^/([a-z0-9_-]+)/?$ /index.php?page=$1 last;',
  'if (!-e $request_filename) { rewrite ^ /index.php last; }',
  'if (!-f $document_root$uri) { rewrite ^(.*)$ /index.php?q=$1 break; }',
  'if ($uri !~ ^/(api|static)/) { rewrite ^ /index.html; }',
  'if ($uri !~* "^/(api|static)/") { return 404; }',
  'if ($http_user_agent ~ mobile) { rewrite ^/(.*)$ /m/$1 last; }',
])('%s', (lines) => {
  test('catches the check of a part of 0.2, and one below it', async () => {
    for (const http of [above(lines), below(lines)])
      expect(await idsOf(http, true)).toEqual(['2 check-rewritten']);
    expect(await idsOf(above(lines), false)).toEqual(['2 check-rewritten']);
  });

  test('does not catch the check below the part', async () => {
    expect(await idsOf(below(lines), false)).toEqual([]);
  });
});

test.each([
  'rewrite ^/old/(.*)$ /new/$1 last;',
  'if ($host = www.x.example) { return 301 https://x.example$request_uri; }',
  'rewrite ^ https://x.example$request_uri permanent;',
  'if (-f $document_root/down.html) { rewrite ^ /down.html last; }',
  'if ($uri = /x) { rewrite ^ /y last; }',
  'set $x 1; if ($request_method = TRACE) { return 405; }',
  'rewrite ^/_headgate$ /_headgate break; rewrite ^ /index.php last;',
  'rewrite ^/(?#what)x$ /y last;',
])('does not catch the check: %s', async (lines) => {
  expect(await idsOf(above(lines), true)).toEqual([]);
});

test.each([
  'proxy_cache pages;',
  'proxy_set_body x;',
  'proxy_store on;',
  'proxy_bind 127.0.0.2;',
  'recursive_error_pages on; error_page 403 =404 /x;',
])('%s changes verdicts of a part of 0.2', async (lines) => {
  const found = (hasOldParts: boolean, http: string) =>
    idsOf(http, hasOldParts).then((all) => all.filter((id) => id.includes('check-inherits')));
  expect(await found(true, above(lines))).toEqual(['2 check-inherits']);
  expect(await found(true, `${lines}\nserver { ${SERVER} ${LOCATION} }`)).toEqual([
    '1 check-inherits',
  ]);
  expect(await found(false, above(lines))).toEqual([]);
});

test('lines of a location do not', async () => {
  const cached = LOCATION.replace('proxy_pass', 'proxy_cache pages; proxy_pass');
  expect(await idsOf(`server { ${SERVER} ${cached} }`, true)).toEqual([]);
});
