/**
 * A policy for a host applies if the application serves that host. Many servers, such as those of Go, serve the host of
 * an absolute target, whatever the Host header says.
 */
import { describe, expect, inject, test } from 'vitest';
import { isHere, PROXY_ROWS, type ProxyRow } from '../support/proxy-starts.ts';
import { answerTo, statusOf } from '../support/raw-http.ts';
import { type ByteApplication, startByteApplication } from './support/byte-application.ts';
import { HTTP_2, statusOverHttp2 } from './support/http2.ts';
import { startProxiedApplication } from './support/proxied-application.ts';

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

/** The hosts of a request that servers could serve. */
function hostsOf(head: string): string {
  const [line = '', ...headers] = head.split('\r\n');
  const ofTarget = /^\S+ (?![/*])(\S+)/.exec(line)?.[1] ?? '';
  return [ofTarget, ...headers.filter((header) => /^(x-forwarded-)?host:/i.test(header))].join();
}

function served({ heads }: ByteApplication): string[] {
  return heads.filter((head) => hostsOf(head).toLowerCase().includes(ADMIN));
}

/** Uses up the limit. */
async function useUp(get: () => Promise<number | undefined>): Promise<void> {
  expect(await get()).toBe(200);
  expect(await get()).toBe(429);
}

const rows: readonly ProxyRow[] = PROXY_ROWS;

describe.each(rows)('$proxy $program', ({ proxy, program, start }) => {
  const testWith = test.skipIf(!isHere({ program }, programs));

  testWith('lets no absolute target past the policy', async () => {
    await using proxied = await startProxiedApplication(POLICIES, startByteApplication, start);
    const { url, application } = proxied;
    const plain = `GET /x HTTP/1.1\r\nHost: ${ADMIN}\r\nConnection: close\r\n\r\n`;
    await useUp(async () => statusOf(await answerTo(url, plain)));
    const before = served(application).length;
    const requests = [...REQUESTS, ...HOST_BEHIND_TARGET];
    await Promise.all(requests.map((request) => answerTo(url, request)));
    expect(served(application).slice(before)).toEqual([]);
  });

  const changes = HTTP_2[proxy];
  if (changes === undefined) return;
  testWith('lets no two hosts of HTTP/2 past the policy', async () => {
    await using proxied = await startProxiedApplication(POLICIES, startByteApplication, (behind) =>
      start({ ...behind, changes }),
    );
    const { url, application } = proxied;
    await useUp(() => statusOverHttp2(url, '/x', { ':authority': ADMIN }));
    const before = served(application).length;
    await Promise.all(HTTP_2_REQUESTS.map((headers) => statusOverHttp2(url, '/x', headers)));
    expect(served(application).slice(before)).toEqual([]);
  });
});
