/** A site of NGINX with the parts of headgate answers as it did without them, and its application receives the same. */
import { describe, inject, test } from 'vitest';
import {
  CHECK,
  expectDenials,
  expectSameSite,
  get,
  PASS,
  siteWith,
  startSites,
  WITH_PASSWORD,
} from './support/compared-nginx.ts';
import { type SiteRequest, siteRequest, siteRequests } from './support/site-requests.ts';

const VARIED = siteWith(
  `
  rewrite ^([^.]*/no-slash)$ $1/ permanent;
  rewrite ^/nice/([a-z0-9-]+)$ /$1?nice=1 last;
  location /files/ { alias ./; autoindex on; }
  location /checked-files/ { ${CHECK} alias ./; }
  location /members/ { auth_basic members; auth_basic_user_file passwords; ${PASS} }
  location /private/ { deny all; ${PASS} }
  location /read-only/ { limit_except GET { deny all; } ${PASS} }
  location /hotlinked/ { valid_referers server_names; if ($invalid_referer) { return 403; } ${PASS} }
  location /own-pages/ { include headgate-location.conf; try_files /headgate-none @own-pages; }
  location @own-pages {
    proxy_intercept_errors on;
    error_page 404 410 /sorry.html;
    error_page 500 502 503 504 =503 /sorry.html;
    error_page 418 = @other;
    proxy_pass APPLICATION;
  }
  location @other { return 200 "another answer"; }
  location /cached/ { proxy_cache site; proxy_cache_valid any 1h; ${PASS} }
  location /moved/ { return 301 /elsewhere; }
  location ~ ^/captured/([a-z]+)/(?<rest>.+)$ { ${CHECK} proxy_pass APPLICATION/c/$1?rest=$rest; }
  location /prefixed/ { ${CHECK} proxy_pass APPLICATION/other/; }
  location /nested/ { location /nested/inner/ { ${PASS} } }
  location /tried/ { ${CHECK} try_files $uri /front.html; }
  location /tunnel/ {
    proxy_http_version 1.1;
    proxy_set_header Upgrade $http_upgrade;
    proxy_set_header Connection upgrade;
    ${PASS}
  }
  location /filtered/ {
    proxy_buffering off;
    sub_filter served delivered;
    gzip on;
    gzip_types *;
    expires max;
    charset utf-8;
    ${PASS}
  }`,
  'proxy_cache_path cache keys_zone=site:1m;',
);

const VARIED_REQUESTS = [
  ...['', '/own-pages', '/cached', '/filtered', '/prefixed', '/tunnel'].flatMap(siteRequests),
  ...['/files/', '/files/style.css', '/checked-files/style.css', '/checked-files/none'].map(get1),
  ...['/checked-files/', '/tried/style.css', '/nice/page', '/folder/no-slash'].map(get1),
  ...['/captured/abc/d%2Fe?x=1', '/nested/', '/nested/inner/a', '/moved/a'].map(get1),
  ...['/members/a', '/private/a', '/read-only/a', '/hotlinked/a'].map(get1),
  ...[200, 401, 403, 404].map((status) => get(`/members/status-${status}`, WITH_PASSWORD)),
  get('/members/a', 'Authorization: Basic dXNlcjp3cm9uZw=='),
  get('/hotlinked/a', 'Referer: http://elsewhere.example/'),
  get('/checked-files/style.css', 'Range: bytes=0-3'),
  siteRequest('POST /read-only/a', { body: 'a=1' }),
  siteRequest('POST /members/a', { body: 'a=1' }),
  siteRequest('HEAD /private/a'),
];

function get1(path: string): SiteRequest {
  return get(path);
}

/** What a server or http block hands down to the location of the check, or runs for it. */
const HANDED_DOWN: readonly (readonly [string, string, http?: string])[] = [
  ['a trailing slash', 'rewrite ^([^.]*[^/])$ $1/ permanent;'],
  ['a front controller', 'if (!-e $request_filename) { rewrite ^ /front.html last; }'],
  ['a single page', 'if ($uri !~ ^/(files|denied|closed)/) { rewrite ^ /front.html; }'],
  ['names of pages', 'rewrite ^/([a-z0-9_-]+)/?$ /front.html?page=$1 last;'],
  ['a maintenance page', 'if ($uri !~ ^/(?!_)) { return 503; }'],
  ['lower case', 'if ($uri ~ "^(.*_.*)$") { return 302 /without-underscores; }'],
  [
    'a cache with its own key',
    'proxy_cache site; proxy_cache_key $site_path; proxy_cache_valid any 1h; proxy_ignore_headers Cache-Control;',
    'proxy_cache_path cache keys_zone=site:1m;',
  ],
  [
    'a cache',
    'proxy_cache site; proxy_cache_valid any 1h;',
    'proxy_cache_path cache keys_zone=site:1m;',
  ],
  ['a body', 'proxy_set_body "a body"; proxy_method POST;'],
  ['files that are stored', 'proxy_store stored$request_uri;'],
  ['a source address', 'proxy_bind 127.0.0.2;'],
  ['no buffers', 'proxy_buffering off; proxy_request_buffering off;'],
  [
    'small buffers',
    'proxy_busy_buffers_size 8k; proxy_temp_file_write_size 8k; proxy_max_temp_file_size 16k;',
  ],
  [
    'retries',
    'proxy_next_upstream error http_403 http_429 http_500 non_idempotent; proxy_next_upstream_timeout 1s;',
  ],
  [
    'other headers',
    'proxy_hide_header X-RateLimit-Limit; proxy_ignore_headers X-Accel-Redirect; proxy_pass_header Server;',
  ],
  ['rules for cookies and redirects', 'proxy_cookie_path / /a; proxy_force_ranges on;'],
  ['a password', 'auth_basic site; auth_basic_user_file passwords;'],
  ['addresses', 'allow 127.0.0.1; deny all;'],
  [
    'limits of NGINX',
    'limit_req zone=few; limit_conn conns 100;',
    'limit_req_zone $request_method$uri zone=few:1m rate=1r/m; limit_conn_zone $server_name zone=conns:1m;',
  ],
  [
    'recursive error pages',
    'recursive_error_pages on; error_page 403 =404 /sorry.html; error_page 429 500 502 503 504 /sorry.html;',
  ],
  [
    'filters',
    'sub_filter a b; gzip on; ssi on; charset utf-8; expires max; userid_mark off; add_before_body /sorry.html; slice 1k;',
  ],
  ['types', 'types { text/css css; } default_type text/plain; etag off;'],
  ['a small body', 'client_max_body_size 10;'],
  ['mirror', 'mirror /mirrored; location = /mirrored { internal; return 200; }'],
  [
    'files for bodies',
    'client_body_in_file_only clean; client_body_in_single_buffer on; client_body_buffer_size 1; sendfile on;',
  ],
  [
    'what is about caches, TLS and speed',
    'proxy_no_cache 1; proxy_cache_bypass 1; proxy_cache_lock on; proxy_ssl_verify on; proxy_ssl_server_name on; proxy_limit_rate 100000; limit_rate 100000; postpone_output 0; output_buffers 1 1k;',
  ],
  [
    'what is about files',
    'dav_methods PUT DELETE; gzip_static always; gunzip on; autoindex on; index front.html; max_ranges 0; if_modified_since off; open_file_cache max=10; log_not_found off;',
  ],
  [
    'what is about names and paths',
    'merge_slashes off; underscores_in_headers on; absolute_redirect off; port_in_redirect off; server_name_in_redirect on; server_tokens off; msie_refresh on; chunked_transfer_encoding off;',
  ],
  [
    'other ways to applications',
    'fastcgi_intercept_errors on; fastcgi_hide_header X-A; uwsgi_param A b; scgi_param A b; grpc_set_header A b; memcached_buffer_size 4k;',
  ],
  ['keep-alive off', 'keepalive_timeout 0; proxy_http_version 1.0; proxy_socket_keepalive on;'],
];

const FEW_REQUESTS = [
  ...['/page', '/status-401', '/status-403', '/status-404', '/status-500', '/redirect'].map(get1),
  ...['/cookies', '/cacheable', '/cacheable', '/files/style.css', '/style.css', '/a_b'].map(get1),
  siteRequest('POST /upload', { body: 'the body of an upload' }),
];

describe.skipIf(inject('programs').nginx === undefined)('NGINX', () => {
  test('serves a varied site as without headgate', async () => {
    await expectSameSite(VARIED, VARIED_REQUESTS);
  });

  test('denies every kind of request of a varied site with a right 429', async () => {
    await using sites = await startSites(VARIED);
    const files = ['html', 'css', 'js', 'png', 'xml', 'txt', 'json'];
    await expectDenials(sites, [
      // A preflight counts for the default.
      ...siteRequests('/denied').filter(({ head }) => !head.includes('Access-Control-Request')),
      ...files.map((ending) => get(`/denied/a.${ending}`)),
    ]);
  });

  test.each(HANDED_DOWN)(
    'keeps a site whose server block has %s',
    async (_, server = '', http = '') => {
      await expectSameSite(siteWith(server, http), FEW_REQUESTS);
    },
  );
});
