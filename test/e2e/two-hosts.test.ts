/**
 * A policy for a host applies if the application serves that host. Many servers, such as those of Go, serve the host of
 * an absolute target, whatever the Host header says.
 */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { isHere, PROXY_ROWS, type ProxyRow } from '../support/proxy-starts.ts';
import { answerTo, statusOf } from '../support/raw-http.ts';
import { temporaryFile } from '../support/temporary.ts';
import { type ByteApplication, startByteApplication } from './support/byte-application.ts';
import { statusOverHttp2 } from './support/http2-call.ts';
import { HTTP_2 } from './support/http2-proxies.ts';

const programs = inject('programs');
const ADMIN = 'admin.example.com';
const POLICIES = `
version: 1
default: { limits: [1000000/1h] }
policies: [{ name: admin, match: { host: ${ADMIN}, path: "/*" }, limits: [1/1h] }]`;

const TARGETS = [
  ...[`http://${ADMIN}/x`, `HTTP://${ADMIN}/x`, `https://${ADMIN}/x`, `ftp://${ADMIN}/x`],
  ...[`http://${ADMIN}`, `http://${ADMIN}?x`, `http://${ADMIN}:80/x`, `http://${ADMIN}:8000/x`],
  ...[`http://b@${ADMIN}/x`, `http:///${ADMIN}/x`, `http:/${ADMIN}/x`, `${ADMIN}:80`, ADMIN],
  // WHATWG URLs read a backslash as a slash.
  ...[
    `http://${ADMIN}\\@b/x`,
    `http://${ADMIN}%2f@b/x`,
    `http://${ADMIN}#@b/x`,
    `http://${ADMIN}?@b/x`,
  ],
];
/** Each without the line break at its end. */
const HOST_LINES = [
  '',
  'Host:',
  'Host: \t',
  'Host: b',
  'Host: b\r\nHost: b',
  'X-Forwarded-Host: b',
];
/** The other way round: an application may serve the Host header as well. */
const HOST_BEHIND_TARGET = ['http://b/x', 'HTTP://b:80/x'].flatMap((target) =>
  ['1.0', '1.1'].map(
    (version) => `GET ${target} HTTP/${version}\r\nHost: ${ADMIN}\r\nConnection: close\r\n\r\n`,
  ),
);
const REQUESTS = TARGETS.flatMap((target) =>
  HOST_LINES.flatMap((lines) =>
    ['GET', 'OPTIONS'].flatMap((method) =>
      ['1.0', '1.1'].map((version) =>
        [`${method} ${target} HTTP/${version}`, ...(lines && [lines]), 'Connection: close', '', '']
          .flat()
          .join('\r\n'),
      ),
    ),
  ),
);

const HTTP_2_REQUESTS: readonly Readonly<Record<string, string>>[] = [
  { ':authority': 'b', host: ADMIN },
  { ':authority': ADMIN, host: 'b' },
  { host: ADMIN },
  { ':authority': '', host: ADMIN },
  { ':authority': `b@${ADMIN}` },
  { ':authority': ` ${ADMIN}` },
  { ':authority': `${ADMIN}\xa0` },
  { ':authority': 'b', ':path': `http://${ADMIN}/x` },
  { ':authority': '', ':path': `http://${ADMIN}/x` },
  { ':authority': 'b', ':scheme': `http://${ADMIN}/` },
];

const stack = new AsyncDisposableStack();
let gateway: Gateway;

beforeAll(async () => {
  const file = temporaryFile(stack, POLICIES);
  gateway = stack.use(await startGateway({ HEADGATE_POLICIES: file, HEADGATE_GRPC_PORT: '0' }));
});
afterAll(() => stack.disposeAsync());

function behind(application: ByteApplication, changes: Readonly<Record<string, string>> = {}) {
  const { port: headgate, grpcPort: grpc } = gateway;
  return { application: application.port, headgate, grpc, changes };
}

/** The hosts of a request that servers could serve. */
function hostsOf(head: string): string {
  const [line = '', ...headers] = head.split('\r\n');
  const ofTarget = /^\S+ (?![/*])(\S+)/.exec(line)?.[1] ?? '';
  return [ofTarget, ...headers.filter((header) => /^(x-forwarded-)?host:/i.test(header))].join();
}

function served({ heads }: ByteApplication): string[] {
  return heads.filter((head) => hostsOf(head).toLowerCase().includes(ADMIN));
}

/** All proxies have the same client, and the first of them uses up its limit. */
async function useUp(get: () => Promise<number | undefined>): Promise<void> {
  await get();
  expect(await get()).toBe(429);
}

const rows: readonly ProxyRow[] = PROXY_ROWS;

describe.each(rows)('$proxy $program', (row) => {
  test.skipIf(!isHere(row, programs))('lets no absolute target past the policy', async () => {
    await using application = await startByteApplication();
    await using proxy = await row.start(behind(application));
    const plain = `GET /x HTTP/1.1\r\nHost: ${ADMIN}\r\nConnection: close\r\n\r\n`;
    await useUp(async () => statusOf(await answerTo(proxy.url, plain)));
    const before = served(application).length;
    const requests = [...REQUESTS, ...HOST_BEHIND_TARGET];
    await Promise.all(requests.map((request) => answerTo(proxy.url, request)));
    expect(served(application).slice(before)).toEqual([]);
  });

  const changes = HTTP_2[row.proxy];
  if (changes === undefined) return;
  test.skipIf(!isHere(row, programs))('lets no two hosts of HTTP/2 past the policy', async () => {
    await using application = await startByteApplication();
    await using proxy = await row.start(behind(application, changes));
    await useUp(() => statusOverHttp2(proxy.url, '/x', { ':authority': ADMIN }));
    const before = served(application).length;
    await Promise.all(HTTP_2_REQUESTS.map((headers) => statusOverHttp2(proxy.url, '/x', headers)));
    expect(served(application).slice(before)).toEqual([]);
  });
});
