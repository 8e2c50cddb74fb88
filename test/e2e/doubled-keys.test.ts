/**
 * A client that sends its key twice. Whichever of the values the application takes, headgate has seen it alone: a blocked
 * key is not served by hiding it behind another.
 */
import { hash } from 'node:crypto';
import { describe, expect, inject, test } from 'vitest';
import { call } from '../support/http.ts';
import { startProxiedApplication } from '../support/proxied-application.ts';
import { PROXY_ROWS } from '../support/proxy-rows.ts';
import { exchange, statusOf } from '../support/raw-http.ts';

const programs = inject('programs');
const BLOCKED = 'the-blocked-key';
const POLICIES = `
version: 1
identity: { api_key: { keys: [{ id: acme, sha256: ${hash('sha256', BLOCKED, 'hex')} }] } }
block: [{ key: acme }]
default: { limits: [1000000/1h] }`;

/** Lines of one request, the blocked key among them. */
const VARIANTS: readonly (readonly string[])[] = [
  [`X-Api-Key: ${BLOCKED}`, `X-Api-Key: ${BLOCKED}`],
  [`X-Api-Key: ${BLOCKED}`, 'X-Api-Key: other'],
  ['X-Api-Key: other', `X-Api-Key: ${BLOCKED}`],
  [`X-Api-Key: ${BLOCKED}`, 'X-Api-Key:'],
  ['X-Api-Key:', `X-Api-Key: ${BLOCKED}`],
  ['X-Api-Key: ', `x-api-key:\t${BLOCKED}`],
  [`X-Api-Key: ${BLOCKED}, other`],
  [`X-Api-Key: other,${BLOCKED}`],
  [`X-Api-Key: ,${BLOCKED}`],
  [`X-API-KEY: ${BLOCKED}`, 'x-api-key: a', 'X-Api-Key: b'],
  ['X-Api-Key: a', 'Accept: */*', `x-aPi-kEy: ${BLOCKED}`],
];

describe.each(PROXY_ROWS)('$proxy, $program', ({ program, start }) => {
  const isHere = program === undefined || programs[program] !== undefined;
  test.skipIf(!isHere)('serves no application a blocked key', async () => {
    await using proxied = await startProxiedApplication(POLICIES, start);
    const one = await call(proxied.url, '/', { headers: { 'x-api-key': BLOCKED } });
    expect(one.status).toBe(403);
    for (const lines of VARIANTS) {
      const request = `GET / HTTP/1.1\r\nHost: a.example\r\n${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`;
      const status = statusOf(await exchange(proxied.url, request, 2_000));
      expect(status, lines.join(' | ')).toSatisfy((code) => [200, 400, 403].includes(code));
    }
    const served = proxied.seen.map(({ headers }) => String(headers['x-api-key'] ?? ''));
    expect(served.filter((keys) => keys.includes(BLOCKED))).toEqual([]);
  });
});
