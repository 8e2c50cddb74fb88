/** A policy for a host applies to every spelling of that host that an application behind the proxy could accept. */
import { describe, expect, inject, test } from 'vitest';
import { isHere, PROXY_ROWS } from '../support/proxy-starts.ts';
import { answerTo } from '../support/raw-http.ts';
import { startUpstream } from '../support/upstream.ts';
import { startProxiedApplication } from './support/proxied-application.ts';

const programs = inject('programs');
const POLICIES = `
version: 1
default: { limits: [1000000/1h] }
policies: [{ name: admin, match: { host: admin.example.com, path: "/*" }, limits: [1/1h] }]`;

const HOSTS = `
  admin.example.com:1:2 admin.example.com:: admin.example.com:80: admin.example.com:] admin.example.com:80:admin
  admin.example.com:80a admin.example.com:a ADMIN.example.com admin.example.com. admin.example.com.:80
  admin.example.com.. b,admin.example.com admin.example.com,b b@admin.example.com admin.example.com@b
  admin.example.com/b admin.example.com#b admin.example.com?b admin.example.com\\b [admin.example.com]
  admin.example.com%00 %61dmin.example.com admin%2eexample.com admin.example.com;b admin.example.com|b
  admin.example.com:08080 admin.example.com:99999999`
  .trim()
  .split(/\s+/);

/** The Host lines of a request, and its target. */
const REQUESTS: readonly (readonly [hosts: readonly string[], target: string])[] = [
  ...HOSTS.map((host) => [[host], '/'] as const),
  [['b', 'admin.example.com'], '/'],
  [['admin.example.com', 'b'], '/'],
  [['b'], 'http://admin.example.com/'],
  [['b'], 'http://admin.example.com:1:2/'],
];

describe.each(PROXY_ROWS)('$proxy $program', (row) => {
  test.skipIf(!isHere(row, programs))('lets no spelling of a host past its policy', async () => {
    await using proxied = await startProxiedApplication(POLICIES, startUpstream, row.start);
    const send = (hosts: readonly string[], target = '/') => {
      const lines = hosts.map((host) => `Host: ${host}\r\n`).join('');
      const head = `GET ${target} HTTP/1.1\r\n${lines}Connection: close\r\n\r\n`;
      return answerTo(proxied.url, Buffer.from(head, 'latin1'));
    };
    await send(['admin.example.com']);
    expect(proxied.application.seen).toHaveLength(1);

    for (const [hosts, target] of REQUESTS) await send(hosts, target);
    const reached = proxied.application.seen.slice(1).map(({ headers }) => headers.host ?? '');
    expect(reached.filter((host) => /admin.*example/i.test(host))).toEqual([]);
  });
});
