/** A blocked client cannot hide behind blanks: no application, which may trim, gets its key or its address with them. */
import { hash } from 'node:crypto';
import { describe, expect, inject, test } from 'vitest';
import { BLANKS, withBlanks } from '../support/blanks.ts';
import { isHere, PROXY_ROWS, type ProxyRow } from '../support/proxy-starts.ts';
import { answerTo, statusOf } from '../support/raw-http.ts';
import { type ByteApplication, startByteApplication } from './support/byte-application.ts';
import { HTTP_2, statusOverHttp2 } from './support/http2.ts';
import { startProxiedApplication } from './support/proxied-application.ts';

const programs = inject('programs');
const KEY = 'the-blocked-key';
const ADDRESS = '192.0.2.7';
const POLICIES = `
version: 1
identity:
  sources: [api_key, { header: cf-connecting-ip, from: proxy }, ip]
  api_key: { keys: [{ id: acme, sha256: ${hash('sha256', KEY, 'hex')} }] }
block: [{ key: acme }, ${ADDRESS}]
default: { limits: [1000000/1h] }`;

const MANY = 8_300;
const VALUES = [KEY, ADDRESS].flatMap((value) => [
  ...BLANKS.flatMap((blank) => withBlanks(value, blank)),
  ...[' ', '\t'].flatMap((blank) => [blank.repeat(MANY) + value, value + blank.repeat(MANY)]),
]);

type Headers = Readonly<Record<string, string>>;

const BLOCKED: readonly Headers[] = VALUES.map((value) =>
  value.includes(KEY) ? { 'x-api-key': value } : { 'cf-connecting-ip': value },
);

/** A line break in a value begins another header, which has the key as its name. */
const BLOCKED_LINE = new RegExp(`^(x-api-key|cf-connecting-ip):[^\\n]*(${KEY}|${ADDRESS})`, 'im');

type Get = (path: string, headers: Headers) => Promise<number | undefined>;

async function statusOverHttp1(url: string, path: string, headers: Headers) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `GET ${path} HTTP/1.1\r\nHost: a.example\r\n${lines.join('')}Connection: close\r\n\r\n`;
  return statusOf(await answerTo(url, Buffer.from(head, 'latin1')));
}

async function expectNothingServed(get: Get, { heads }: ByteApplication): Promise<void> {
  expect(await get('/', { 'x-api-key': 'another-key' })).toBe(200);
  expect(await get('/', { 'x-api-key': KEY })).toBe(403);
  expect(heads).toHaveLength(1);
  await Promise.all(BLOCKED.map((headers, i) => get(`/${i}`, headers)));
  expect(heads.filter((head) => BLOCKED_LINE.test(head))).toEqual([]);
}

const rows: readonly ProxyRow[] = PROXY_ROWS;

describe.each(rows)('$proxy $program', ({ proxy, program, start }) => {
  const testWith = test.skipIf(!isHere({ program }, programs));

  testWith('serves no blocked client over HTTP/1.1', async () => {
    await using proxied = await startProxiedApplication(POLICIES, startByteApplication, start);
    const get: Get = (path, headers) => statusOverHttp1(proxied.url, path, headers);
    await expectNothingServed(get, proxied.application);
  });

  const changes = HTTP_2[proxy];
  if (changes === undefined) return;
  testWith('serves no blocked client over HTTP/2', async () => {
    await using proxied = await startProxiedApplication(POLICIES, startByteApplication, (behind) =>
      start({ ...behind, changes }),
    );
    const get: Get = (path, headers) => statusOverHttp2(proxied.url, path, headers);
    await expectNothingServed(get, proxied.application);
  });
});
