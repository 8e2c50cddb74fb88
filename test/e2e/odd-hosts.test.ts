/** A policy for a host holds for every way to write that host that an application behind the proxy could take for it. */
import { describe, expect, inject, test } from 'vitest';
import { startProxiedApplication } from '../support/proxied-application.ts';
import { PROXY_ROWS } from '../support/proxy-rows.ts';
import { exchange } from '../support/raw-http.ts';

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

describe.each(PROXY_ROWS)('$proxy, $program', ({ program, start }) => {
  const isHere = program === undefined || programs[program] !== undefined;
  test.skipIf(!isHere)('lets no spelling of a host past its policy', async () => {
    await using proxied = await startProxiedApplication(POLICIES, start);
    const ask = (lines: string, target = '/') => {
      const head = `GET ${target} HTTP/1.1\r\n${lines}Connection: close\r\n\r\n`;
      return exchange(proxied.url, Buffer.from(head, 'latin1'), 1_000);
    };
    await ask('Host: admin.example.com\r\n');
    expect(proxied.seen).toHaveLength(1);

    for (const host of HOSTS) await ask(`Host: ${host}\r\n`);
    await ask('Host: b\r\nHost: admin.example.com\r\n');
    await ask('Host: admin.example.com\r\nHost: b\r\n');
    await ask('Host: b\r\n', 'http://admin.example.com/');
    await ask('Host: b\r\n', 'http://admin.example.com:1:2/');

    const reached = proxied.seen.slice(1).map(({ headers }) => headers.host ?? '');
    expect(reached.filter((host) => /admin.*example/i.test(host))).toEqual([]);
  });
});
