/** The outer server of NGINX that the quickstart shows. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { createAuthority } from '../support/certificates.ts';
import { expectSameSite, get, startSites, WITH_PASSWORD } from './support/compared-nginx.ts';
import { shown } from './support/nginx-quickstart.ts';
import { visitSite } from './support/site-comparison.ts';
import { siteRequest, siteRequests } from './support/site-requests.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-nginx-outer-'));
afterAll(() => rmSync(folder, { recursive: true }));

const HTTP = `include headgate-http.conf;\n${shown('map $http_host')}`;
const files = { 'hop.conf': shown('hop.conf') };

const HEADERS = `
  proxy_set_header Host $http_host;
  proxy_set_header X-Real-IP $remote_addr;
  proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
  proxy_set_header X-Forwarded-Proto $scheme;`;
const LARGE = [1, 2, 3].map((n) => `add_header X-${n} ${'v'.repeat(3_000)};`).join(' ');
/** The server as it was has these otherwise. */
const FROM_HTTP =
  'proxy_intercept_errors on; gzip on; gzip_types *; error_page 500 502 /sorry.html;';
/** Of the server as it was. */
const SITE = `
  root .;
  server_tokens off;
  proxy_intercept_errors off;
  gzip off;
  error_page 404 /sorry.html;
  add_header X-Site-Path $uri always;
  ${HEADERS}
  location / { proxy_pass APPLICATION; }
  location = /sso { internal; return 204; }
  location /signed-in/ { auth_request /sso; proxy_pass APPLICATION; }
  location /either/ {
    satisfy any;
    allow 192.0.2.1;
    deny all;
    auth_basic site;
    auth_basic_user_file passwords;
    proxy_pass APPLICATION;
  }
  location /intercepted/ { proxy_intercept_errors on; proxy_pass APPLICATION; }
  location /small/ { client_max_body_size 10; proxy_pass APPLICATION; }
  location /large/ { client_max_body_size 4m; proxy_request_buffering off; proxy_pass APPLICATION; }
  location /files/ { alias ./; }
  location /large-head/ { ${LARGE} return 200; }
  location /gone/ { deny all; }
  location /filtered/ { gzip on; gzip_types *; sub_filter served delivered; proxy_pass APPLICATION; }
  location /unbuffered/ { proxy_buffering off; proxy_http_version 1.1; proxy_set_header Connection ""; ${HEADERS} proxy_pass APPLICATION; }
  location /tunnel/ {
    proxy_http_version 1.1;
    proxy_set_header Upgrade $http_upgrade;
    proxy_set_header Connection $http_connection;
    ${HEADERS}
    proxy_pass APPLICATION;
  }`;
const OUTER = `${FROM_HTTP} ${HTTP}\n${shown('auth_request /sso').replace(/location \/ \{\s+auth_request \/sso;[^}]*\}/, SITE)}`;
const BEFORE = `${FROM_HTTP} server { listen PORT; server_name shop.example; ${SITE} }`;

const UPLOAD = { body: Buffer.alloc(3_000_000, 'u') };
const SAME = [
  ...['', '/signed-in', '/intercepted', '/tunnel', '/unbuffered', '/filtered'].flatMap(
    siteRequests,
  ),
  ...['/either/page', '/gone/a', '/large-head/a', '/files/style.css', '/files/none'].map((path) =>
    get(path),
  ),
  get('/page', 'Accept-Encoding: gzip'),
  get('/either/page', WITH_PASSWORD),
  get('/either/status-403', WITH_PASSWORD),
  get('/files/style.css', 'Range: bytes=0-3'),
  siteRequest('POST /large/upload', UPLOAD),
  siteRequest('POST /upload', UPLOAD),
  siteRequest('POST /small/upload', { body: 'more than ten bytes' }),
  siteRequest('GET /page', { version: '1.0' }),
  get('/filtered/page', 'Accept-Encoding: gzip'),
];

describe.skipIf(inject('programs').nginx === undefined)('NGINX', () => {
  test('serves the same site behind an outer server that asks headgate', async () => {
    await expectSameSite(OUTER, SAME, { plain: BEFORE, files });
  });

  test('redirects behind an outer server by the path alone', async () => {
    await using sites = await startSites(OUTER, { plain: BEFORE, files });
    const { answer } = await visitSite(sites.guarded, get('/signed-in'));
    expect([answer.status, answer.headers]).toEqual([
      '301',
      expect.arrayContaining(['location: /signed-in/']),
    ]);
  });

  test('checks an outer server and serves the inner one for the same host', async () => {
    const other =
      'server { listen unix:/run/nginx-site.sock; server_name other.example; return 204; }';
    await using sites = await startSites(`${OUTER} ${other}`, { plain: BEFORE, files });
    const request = siteRequest('GET http://shop.example/thing');
    const odd = { ...request, head: request.head.replace('Host: HOST', 'Host: other.example') };
    expect((await visitSite(sites.guarded, odd)).answer.status).toBe('200');
  });

  test('keeps the scheme behind an outer server with TLS', async () => {
    const { certificate, key } = createAuthority(folder).issue('site');
    const own = `ssl_certificate ${certificate}; ssl_certificate_key ${key};`;
    const tls = OUTER.replace('listen PORT;', `listen PORT ssl; ${own}`)
      .replace('listen unix:/run/nginx-site.sock;', `listen unix:/run/nginx-site.sock ssl; ${own}`)
      .replace('http://unix:/run/nginx-site.sock', 'https://unix:/run/nginx-site.sock');
    await using sites = await startSites(tls, { plain: BEFORE, files });
    const url = sites.guarded.url.replace('http:', 'https:');
    const sent = httpsRequest(url, { rejectUnauthorized: false, agent: false }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    expect(answer.resume().statusCode).toBe(200);
    const received = Object.fromEntries(sites.guarded.application.received[0]?.headers ?? []);
    expect(received).toMatchObject({ 'x-forwarded-proto': 'https', 'x-real-ip': '127.0.0.1' });
  });

  test('passes each part of a request and of an answer on at once behind an outer server', async () => {
    const parts = ['one', 'two', 'three'];
    let download: ServerResponse | undefined;
    const application = createServer((incoming, response) => {
      if (incoming.method === 'GET') download = response;
      if (incoming.method === 'GET') response.write(parts[0]);
      incoming.on('data', (part) => response.write(part));
    }).listen(0, '127.0.0.1');
    await once(application, 'listening');
    const { port } = application.address() as AddressInfo;
    const streaming =
      'proxy_http_version 1.1; proxy_buffering off; proxy_request_buffering off; proxy_pass';
    const http = OUTER.replace('location / { proxy_pass', `location / { ${streaming}`);
    await using sites = await startSites(
      http.replaceAll('APPLICATION', `http://127.0.0.1:${port}`),
      { files },
    );
    for (const method of ['POST', 'GET']) {
      const sent = httpRequest(sites.guarded.url, { method, agent: false });
      const answered = once(sent, 'response');
      if (method === 'GET') sent.end();
      let answer: IncomingMessage | undefined;
      for (const part of parts) {
        if (method === 'POST') sent.write(part);
        else if (answer !== undefined) download?.write(part);
        answer ??= (await answered)[0] as IncomingMessage;
        expect(String((await once(answer, 'data'))[0])).toBe(part);
      }
      answer?.destroy();
    }
    application.closeAllConnections();
    application.close();
  });
});
