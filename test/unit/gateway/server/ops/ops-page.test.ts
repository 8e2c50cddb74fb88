/** The page of the ops server: which files it serves, with which headers, and to whom. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createOpsServer } from '../../../../../src/gateway/server/ops/ops-server.ts';

const root = mkdtempSync(join(tmpdir(), 'headgate-page-'));
const folder = join(root, 'ui');

beforeAll(() => {
  mkdirSync(folder);
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>ä</title>');
  writeFileSync(join(folder, 'main.js'), 'export {};');
  writeFileSync(join(folder, 'style.css'), 'body {}');
  writeFileSync(join(folder, 'notes.txt'), 'not for browsers');
  writeFileSync(join(folder, '.hidden'), 'not for browsers');
  writeFileSync(join(root, 'secret.js'), 'outside');
});
afterAll(() => rmSync(root, { recursive: true }));

function serverWith(options: { adminToken?: string; pageFolder?: string | undefined } = {}) {
  return createOpsServer({
    ...{ metrics: async () => '', contentType: 'text/plain' },
    health: () => ({ ready: true, degraded: false, unseenHeaders: [], unsettledPolicies: [] }),
    operate: async () => ({}),
    ...{ adminToken: undefined, pageFolder: folder, ...options },
    ...{ onRefused: () => {}, onFault: () => {}, onConnectionFault: () => {} },
  });
}

const get = (url: string, headers: Record<string, string> = {}, server = serverWith()) =>
  server.inject({ url, headers: { host: 'localhost:9464', ...headers } });

test.each([
  ['/ui/', 'text/html; charset=utf-8', '<!doctype html><title>ä</title>'],
  ['/ui/index.html', 'text/html; charset=utf-8', '<!doctype html><title>ä</title>'],
  ['/ui/main.js', 'text/javascript; charset=utf-8', 'export {};'],
  ['/ui/style.css', 'text/css; charset=utf-8', 'body {}'],
  ['/ui/?x=1', 'text/html; charset=utf-8', '<!doctype html><title>ä</title>'],
])('%s is served as %s', async (url, type, body) => {
  const answer = await get(url);
  expect(answer.statusCode).toBe(200);
  expect(answer.body).toBe(body);
  expect(answer.headers).toMatchObject({
    'content-type': type,
    'content-length': String(Buffer.byteLength(body)),
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cache-control': 'no-cache',
    etag: expect.stringMatching(/^"[\w-]{43}"$/),
  });
});

test('/ui leads to /ui/', async () => {
  const { statusCode, headers } = await get('/ui');
  expect([statusCode, headers.location]).toEqual([308, 'ui/']);
});

test('a file that the browser has is not sent again', async () => {
  const { etag = '' } = (await get('/ui/main.js')).headers;
  for (const known of [`${etag}`, `W/${etag}`, `"other", ${etag}`]) {
    const { statusCode, body, headers } = await get('/ui/main.js', { 'if-none-match': known });
    expect([statusCode, body, headers.etag]).toEqual([304, '', etag]);
  }
  expect((await get('/ui/main.js', { 'if-none-match': '"other"' })).statusCode).toBe(200);
});

test.each([
  ...['/ui/notes.txt', '/ui/.hidden', '/ui/nothing.js', '/ui/main.js/', '/ui//main.js'],
  ...['/ui/../secret.js', '/ui/%2e%2e/secret.js', '/ui/..%2fsecret.js', '/ui/%2e%2e%2fsecret.js'],
  ...['/ui/..%5csecret.js', '/ui/main.js%00', '/ui/__proto__', '/ui/constructor', '/UI/'],
])('%s is not possible', async (url) => {
  const { statusCode, json } = await get(url);
  expect([statusCode, json().error]).toEqual([404, 'not_found']);
});

test.each(['POST', 'PUT', 'DELETE'] as const)('%s is not possible', async (method) => {
  const headers = { host: 'localhost' };
  expect((await serverWith().inject({ method, url: '/ui/', headers })).statusCode).toBe(405);
});

test('nothing is there if it is turned off', async () => {
  const server = serverWith({ pageFolder: undefined });
  for (const url of ['/ui', '/ui/', '/ui/main.js']) {
    const { statusCode, json } = await get(url, {}, server);
    expect([statusCode, json().error]).toEqual([404, 'not_found']);
  }
});

describe('access', () => {
  test('needs no token, from any host, if there is one; the API does', async () => {
    const server = serverWith({ adminToken: 'a'.repeat(16) });
    const headers = { host: 'gateway.example' };
    expect((await get('/ui/', headers, server)).statusCode).toBe(200);
    expect((await get('/v1/overview', headers, server)).statusCode).toBe(401);
  });

  test('without a token is for hosts of this machine', async () => {
    for (const host of ['localhost', '127.0.0.1:9464', '[::1]']) {
      expect((await get('/ui/', { host })).statusCode).toBe(200);
    }
    for (const host of ['evil.example', '203.0.113.9']) {
      for (const url of ['/ui', '/ui/', '/ui/main.js', '/ui/nothing']) {
        expect((await get(url, { host })).statusCode).toBe(403);
      }
    }
  });
});
