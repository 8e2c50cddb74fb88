/** A gateway, and requests that change every metric that clients and proxies can change. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { waitUntil } from '../../support/eventually.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';
import type { TestRedis } from '../../support/redis.ts';
import { temporaryFile } from '../../support/temporary.ts';

const SECRET = 'the-secret-of-a-test';
const POLICIES = `
version: 1
identity:
  sources: [api_key, cf_connecting_ip, ip]
  trusted_proxies: [127.0.0.1/32]
exempt: [192.0.2.0/24]
block: [203.0.113.0/24]
default: { limits: [100000/1h] }
policies:
  - { name: login, match: { path: /login }, limits: [3/1h], on_store_failure: allow }
  - { name: pay, match: { path: /pay }, limits: [100000/1h], on_store_failure: deny }
  - { name: chat, match: { path: /chat }, limits: [100000/1h], on_store_failure: local }
  - { name: next, match: { path: /next }, limits: [1/1h], mode: shadow }
  - { name: pages, match: { path: /pages }, limits: [{ rate: 100000/1h, algorithm: sliding-window-counter, refund: { status: [204] } }, 100000/1d] }
`;
const CLIENT = '198.51.100.7';

export interface Measured extends AsyncDisposable {
  readonly gateway: Gateway;
  /** Sends one request of each kind. */
  traffic(): Promise<void>;
  /** Changes the policy file twice: the gateway loads the first version and refuses the second. */
  changeFiles(): Promise<void>;
  /** Freezes Redis until the gateway has given it up. */
  silence(redis: TestRedis): Promise<void>;
}

export async function startMeasured(redis: TestRedis): Promise<Measured> {
  await using unlessItStarts = new AsyncDisposableStack();
  const file = temporaryFile(unlessItStarts, POLICIES);
  const gateway = unlessItStarts.use(
    await startGateway(
      {
        HEADGATE_POLICIES: file,
        HEADGATE_REDIS_URL: redis.url,
        HEADGATE_PROXY_SECRET: SECRET,
      },
      { reloads: true },
    ),
  );
  // The policy file does not trust this address.
  const elsewhere = new Agent({ localAddress: '127.0.0.2' });
  unlessItStarts.defer(() => elsewhere.destroy());

  const ask = (path: string, headers: Record<string, string> = {}, agent?: Agent) =>
    call(gateway.url, path, {
      headers: { 'x-headgate-secret': SECRET, 'x-headgate-client-ip': CLIENT, ...headers },
      ...(agent && { agent }),
    });
  const reading = async (pattern: RegExp) =>
    pattern.test((await call(gateway.opsUrl, '/metrics')).body);
  const settled = async () => {
    const { headers } = await ask('/envoy/pages');
    const body = JSON.stringify({ token: headers['x-headgate-settle'], status: 204 });
    const json = { 'content-type': 'application/json', 'x-headgate-secret': SECRET };
    await call(gateway.url, '/settle', { method: 'POST', headers: json, body });
  };
  const traffic = async () => {
    const nginx = { 'x-original-method': 'GET', 'x-original-uri': '/pay', 'x-real-ip': CLIENT };
    const id = { 'x-headgate-request-id': randomUUID() };
    await Promise.all([
      // Soon exceeds its limit, and is then denied from memory.
      ask('/envoy/login'),
      ask('/envoy/pay', { 'x-api-key': 'an unlisted key' }),
      ask('/envoy/chat'),
      ask('/envoy/next'),
      settled(),
      ask('/envoy/in/no/policy'),
      ask('/envoy/pay', { 'x-headgate-client-ip': '192.0.2.1' }),
      ask('/envoy/pay', { 'x-headgate-client-ip': '203.0.113.1' }),
      ask('/envoy/pay', { 'x-headgate-peer-ip': CLIENT, 'cf-connecting-ip': '192.0.2.1' }),
      ask('/envoy/pay', {}, elsewhere),
      ask('/haproxy'),
      ask('/envoy/pay', { 'x-headgate-secret': 'a wrong one' }),
      ask('/nginx', { ...nginx, ...id }).then(() => ask('/nginx', { ...nginx, ...id })),
    ]);
  };
  const started = unlessItStarts.move();
  return {
    gateway,
    traffic,
    async changeFiles() {
      writeFileSync(file, `${POLICIES}# changed\n`);
      await gateway.printed(/"policies_loaded"/);
      writeFileSync(file, 'version: 1');
      await gateway.printed(/"policies_refused"/);
    },
    async silence(server) {
      // A gateway gives up only a Redis that has counted.
      await waitUntil('Redis counts', async () => {
        const { headers } = await ask('/envoy/pay');
        return headers['x-ratelimit-mode'] === undefined;
      });
      server.signal('SIGSTOP');
      try {
        await waitUntil('the store is given up', async () => {
          await traffic();
          return reading(/^headgate_store_given_up_total [1-9]/m);
        });
      } finally {
        server.signal('SIGCONT');
      }
      await waitUntil('the store is used again', async () => {
        await traffic();
        return reading(/^headgate_degraded 0/m);
      });
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}
