/**
 * A proxy that fails open passes requests when the gateway is late. Requests that are expensive to read must not delay
 * it: a client over its limit stays denied while others send as many of them as they can.
 */
import { Agent } from 'node:http';
import { describe, expect, inject, test } from 'vitest';
import { call } from '../support/http.ts';
import { isHere, proxyStart } from '../support/proxy-starts.ts';
import { startUpstream } from '../support/upstream.ts';
import { startProxiedApplication } from './support/proxied-application.ts';

const programs = inject('programs');
const POLICIES = `
version: 1
default: { limits: [1000000/1h] }
policies: [{ name: enter, match: { method: POST, path: /enter }, limits: [5/1h] }]`;

/** Each has the most readings, or the most escapes, segments or characters to decode. */
const EXPENSIVE = [
  '//http:%2f%2fa/|/%252e%252e;a%253f%2523.%20%09/%ef%bd%8c',
  '/http:%2f%2fa;b%23c%3f//http://|/%252e%252e;%5ca.%20%09/%ef%bd%8c',
  '/|%2e%2e;/%2e%2e/',
  '/%61|%2525',
  '/a%ef%b7%ba|%cc%81%cc%96',
].map((each) => each.split('|') as [string, string]);
const LENGTHS = [250, 2_000, 6_000];
const TARGETS = EXPENSIVE.flatMap(([start, repeated]) =>
  LENGTHS.map((length) => start + repeated.repeat((length - start.length) / repeated.length)),
);
const CONNECTIONS = 20;
const LOGINS = 30;

describe.each(['nginx', 'envoy', 'envoy-grpc', 'caddy', 'haproxy'].map(proxyStart))(
  '$name',
  (row) => {
    test.skipIf(!isHere(row, programs))(
      'is answered in time during expensive requests',
      async () => {
        await using proxied = await startProxiedApplication(POLICIES, startUpstream, row.start);
        const enter = () => call(proxied.url, '/enter', { method: 'POST' });
        for (let i = 0; i < 6; i++) await enter();

        const flood = startFlood(proxied.url);
        let passed = 0;
        for (let i = 0; i < LOGINS; i++) if ((await enter()).status === 200) passed++;
        const answered = await flood.stop();

        expect(answered).toBeGreaterThan(LOGINS);
        // Normally none passes. Before the work had a bound, nearly all of them did.
        expect(passed).toBeLessThan(LOGINS / 10);
      },
    );
  },
);

/** Keeps the connections busy with expensive requests. `stop` resolves to the number of answers. */
function startFlood(url: string): { stop(): Promise<number> } {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  let isOver = false;
  let answers = 0;
  const workers = Array.from({ length: CONNECTIONS }, async (_, worker) => {
    for (let i = worker; !isOver; i++) {
      const target = TARGETS[i % TARGETS.length] ?? '/';
      // A refusal by the proxy is an answer, too.
      await call(url, target, { agent }).catch(() => {});
      answers++;
    }
  });
  return {
    async stop() {
      isOver = true;
      await Promise.all(workers);
      agent.destroy();
      return answers;
    },
  };
}
