/**
 * docs/recipes/keys-in-redis.md through NGINX and Envoy, each with its own gateway on one Redis: a customer is added,
 * upgraded, blocked and revoked by the commands of the page, while requests of another one arrive.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, PATIENT, startGateway } from '../support/gateway.ts';
import { call, type HttpAnswer } from '../support/http.ts';
import { operate } from '../support/operations.ts';
import { blocksOf } from '../support/page.ts';
import type { RunningProxy } from '../support/proxies.ts';
import { proxyConfigOf } from '../support/proxy-config.ts';
import { isHere, proxyStart } from '../support/proxy-starts.ts';
import { redisIsHere, startRedis } from '../support/redis.ts';
import { temporaryFile } from '../support/temporary.ts';
import { startUpstream } from '../support/upstream.ts';

const PAGE = readFileSync(new URL('../../docs/recipes/keys-in-redis.md', import.meta.url), 'utf8');
const POLICIES = blocksOf(PAGE).find(({ text }) => text.startsWith('version: 1\n'))?.text ?? '';
/** A change takes a message of Redis. This is long enough for a busy machine. */
const SOON_MS = 10_000;

const PROXIES = [proxyStart('nginx'), proxyStart('envoy-grpc')];
const areHere = redisIsHere && PROXIES.every((each) => isHere(each, inject('programs')));

describe.skipIf(!areHere)('keys in Redis, behind NGINX and Envoy', () => {
  const started = new AsyncDisposableStack();
  const gateways: Gateway[] = [];
  const proxies: RunningProxy[] = [];

  beforeAll(async () => {
    const redis = started.use(await startRedis());
    const application = started.use(await startUpstream());
    for (const { name, start } of PROXIES) {
      const gateway = started.use(
        await startGateway({
          ...PATIENT,
          HEADGATE_POLICIES: temporaryFile(started, POLICIES),
          HEADGATE_REDIS_URL: redis.url,
          HEADGATE_GRPC_PORT: '0',
        }),
      );
      gateways.push(gateway);
      const text = proxyConfigOf(name, POLICIES);
      const { port: headgate, grpcPort: grpc } = gateway;
      proxies.push(
        started.use(await start({ application: application.port, headgate, grpc, text })),
      );
    }
  });
  afterAll(() => started.disposeAsync());

  /** At the first gateway, as the page has it. */
  async function keys(...args: readonly string[]): Promise<string> {
    const env = { HEADGATE_OPS_PORT: new URL(gateways[0]?.opsUrl ?? '').port };
    const { code, stdout, stderr } = await runCommand(['keys', ...args], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return /hg_[\w-]{43}/.exec(stdout)?.[0] ?? '';
  }

  const get = (proxy: RunningProxy, path: string, key: string) =>
    call(proxy.url, path, { headers: { 'x-api-key': key } });

  const shown = ({ status, headers }: HttpAnswer) =>
    `${status}, ${headers['x-ratelimit-remaining']} of ${headers['x-ratelimit-limit']}`;

  /** What such a request would leave. It is not counted, so it can be repeated. */
  async function limitsOf(gateway: Gateway, key: string): Promise<string> {
    const asked = { url: '/v1/exports', headers: { 'x-api-key': key }, client: '127.0.0.1' };
    const { answer } = await operate<{ steps: readonly { what: string }[] }>(
      gateway,
      'POST /v1/explain',
      asked,
    );
    const said = answer.steps.map(({ what }) => what).join('\n');
    return said.match(/\d+ of \d+ remain/g)?.join(', ') ?? said;
  }

  async function bothSay(key: string, wanted: string): Promise<void> {
    for (const gateway of gateways) {
      await eventually(
        () => limitsOf(gateway, key),
        (said) => said === wanted,
        SOON_MS,
        wanted,
      );
    }
  }

  test('changes take effect in both, counters stay, and nobody else notices', async () => {
    const [nginx, envoy] = proxies as [RunningProxy, RunningProxy];
    const globex = await keys('add', '--id', 'globex', '--plan', 'pro');
    const others: string[] = [];
    let isOver = false;
    const traffic = (async () => {
      while (!isOver) {
        for (const proxy of proxies) {
          const { status, headers } = await get(proxy, '/v1/items', globex);
          others.push(`${status} ${headers['x-ratelimit-limit']}`);
        }
        // Less than the plan allows in a minute.
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    })();
    try {
      // It sends a key that it does not have yet, so Envoy's gateway remembers that nobody has it.
      expect(shown(await get(envoy, '/v1/exports', 'not-yet'))).toBe('200, 1 of 2');

      const acme = await keys('add', '--id', 'acme', '--plan', 'free');
      await bothSay(acme, '4 of 5 remain');
      expect(shown(await get(nginx, '/v1/exports', acme))).toBe('200, 4 of 5');
      expect(shown(await get(envoy, '/v1/exports', acme))).toBe('200, 3 of 5');

      await keys('change', 'acme', '--plan', 'pro');
      await bothSay(acme, '17 of 20 remain');
      expect(shown(await get(envoy, '/v1/exports', acme))).toBe('200, 17 of 20');
      expect(shown(await get(nginx, '/v1/exports', acme))).toBe('200, 16 of 20');

      await keys('change', 'acme', '--block');
      for (const proxy of proxies) {
        await eventually(
          async () => (await get(proxy, '/v1/items', acme)).status,
          (status) => status === 403,
          SOON_MS,
          'a blocked key is refused',
        );
      }
      await keys('change', 'acme', '--unblock');
      await bothSay(acme, '15 of 20 remain');
      const rotated = await keys('rotate', 'acme');
      await bothSay(rotated, '15 of 20 remain');

      await keys('revoke', 'acme');
      // An unlisted key and its address: one request of the address is used up.
      for (const key of [acme, rotated]) await bothSay(key, '1 of 2 remain, 0 of 2 remain');
      expect(shown(await get(nginx, '/v1/exports', acme))).toBe('200, 0 of 2');
      expect((await get(envoy, '/v1/exports', rotated)).status).toBe(429);
    } finally {
      isOver = true;
      await traffic;
    }
    expect(others.length).toBeGreaterThan(2);
    expect(new Set(others)).toEqual(new Set(['200 1200']));
  });
});
