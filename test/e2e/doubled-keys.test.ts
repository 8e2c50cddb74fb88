/**
 * A client that sends its key twice. Whichever of the values the application takes, headgate has seen it alone: a blocked
 * key is not served by hiding it behind another.
 */
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { PROXY_ROWS } from '../support/proxy-rows.ts';
import { exchange, statusOf } from '../support/raw-http.ts';
import { startUpstream } from '../support/upstream.ts';

const programs = inject('programs');
const folder = mkdtempSync(join(tmpdir(), 'headgate-doubled-'));
const policies = join(folder, 'policies.yaml');
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

beforeAll(() => writeFileSync(policies, POLICIES));
afterAll(() => rmSync(folder, { recursive: true }));

describe.each(PROXY_ROWS)('$proxy, $program', ({ program, start }) => {
  const isHere = program === undefined || programs[program] !== undefined;
  test.skipIf(!isHere)('serves no application a blocked key', async () => {
    await using gateway = await startGateway({
      HEADGATE_POLICIES: policies,
      HEADGATE_GRPC_PORT: '0',
    });
    await using upstream = await startUpstream();
    const { port: headgate, grpcPort: grpc } = gateway;
    await using proxy = await start({ application: upstream.port, headgate, grpc });
    const one = await call(proxy.url, '/', { headers: { 'x-api-key': BLOCKED } });
    expect(one.status).toBe(403);
    for (const lines of VARIANTS) {
      const request = `GET / HTTP/1.1\r\nHost: a.example\r\n${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`;
      const status = statusOf(await exchange(proxy.url, request, 2_000));
      expect(status, lines.join(' | ')).toSatisfy((code) => [200, 400, 403].includes(code));
    }
    const served = upstream.seen.map(({ headers }) => String(headers['x-api-key'] ?? ''));
    expect(served.filter((keys) => keys.includes(BLOCKED))).toEqual([]);
  });
});
