/** A client cannot hide a blocked key behind another one: no application serves a request with both. */
import { hash } from 'node:crypto';
import { describe, expect, inject, test } from 'vitest';
import { call } from '../support/http.ts';
import { isHere, PROXY_ROWS } from '../support/proxy-starts.ts';
import { answerTo, statusOf } from '../support/raw-http.ts';
import { startUpstream } from '../support/upstream.ts';
import { startProxiedApplication } from './support/proxied-application.ts';

const programs = inject('programs');
const BLOCKED = 'the-blocked-key';
const POLICIES = `
version: 1
identity: { api_key: { keys: [{ id: acme, sha256: ${hash('sha256', BLOCKED, 'hex')} }] } }
block: [{ key: acme }]
default: { limits: [1000000/1h] }`;

/** Lines of a request with the blocked key. */
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

describe.concurrent.each(PROXY_ROWS)('$proxy $program', (row) => {
  test.skipIf(!isHere(row, programs))('passes no request with a blocked key', async () => {
    await using proxied = await startProxiedApplication(POLICIES, startUpstream, row.start);
    const one = await call(proxied.url, '/', { headers: { 'x-api-key': BLOCKED } });
    expect(one.status).toBe(403);
    for (const lines of VARIANTS) {
      const request = `GET / HTTP/1.1\r\nHost: a.example\r\n${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`;
      const status = statusOf(await answerTo(proxied.url, request));
      expect(status, lines.join(' | ')).toSatisfy((code) => [200, 400, 403].includes(code));
    }
    const served = proxied.application.seen.map(({ headers }) =>
      String(headers['x-api-key'] ?? ''),
    );
    expect(served.filter((keys) => keys.includes(BLOCKED))).toEqual([]);
  });
});
