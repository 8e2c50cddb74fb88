/** Planted keys, addresses and query strings, and a search for them in everything that leaves the process. */
import { expect } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { connectTo, startRedis, testWithOwnRedis } from '../support/redis.ts';

const SECRETS = {
  key: 'sentinel-api-key',
  query: 'sentinel-query',
  client: '198.51.100.77',
  peer: '173.245.48.77',
  cloudflare: '203.0.113.77',
  forwarded: '192.0.2.77',
  ipv6: '2001:db8:77:7777::77',
};

testWithOwnRedis(
  'no address, key or query string is found in logs, metrics, store keys or answers',
  async () => {
    await using redis = await startRedis();
    await using gateway = await startGateway({
      HEADGATE_REDIS_URL: redis.url,
      HEADGATE_LOG_LEVEL: 'trace',
    });
    const target = `/api/auth/login?token=${SECRETS.query}`;
    const identities = [
      { 'x-api-key': SECRETS.key },
      { 'x-headgate-client-ip': SECRETS.client, 'x-headgate-peer-ip': SECRETS.client },
      {
        'x-headgate-client-ip': SECRETS.peer,
        'x-headgate-peer-ip': SECRETS.peer,
        'cf-connecting-ip': SECRETS.cloudflare,
      },
      { 'x-headgate-client-ip': SECRETS.ipv6, 'x-forwarded-for': SECRETS.forwarded },
    ];
    const answers: string[] = [];
    async function askAll() {
      for (const identity of identities) {
        for (const [path, headers] of [
          [`/envoy${target}`, identity],
          [`/envoy/%00${target}`, identity],
          ['/nginx', { ...identity, 'x-original-method': 'POST', 'x-original-uri': target }],
          [
            '/nginx',
            {
              ...identity,
              'x-original-method': 'POST',
              'x-original-uri': target,
              'x-real-ip': SECRETS.client,
            },
          ],
          [`/nowhere${target}`, identity],
        ] as const) {
          for (let i = 0; i < 7; i++) {
            const answer = await call(gateway.url, path, { method: 'POST', headers });
            answers.push(JSON.stringify(answer));
          }
        }
      }
    }
    await askAll();
    const client = connectTo(redis);
    const keys = (await client.keys('*')).join('\n');
    expect(keys).toContain('hg:v1:{');
    client.disconnect();
    await redis.stop('SIGKILL');
    await askAll();

    const { body: metrics } = await call(gateway.opsUrl, '/metrics');
    expect(metrics).toContain('headgate_decisions_total');
    expect(gateway.output()).toContain('store_failed');
    const everything = { answers: answers.join('\n'), keys, metrics, logs: gateway.output() };
    for (const [place, text] of Object.entries(everything)) {
      for (const [name, secret] of Object.entries(SECRETS)) {
        expect(text.includes(secret), `${name} in ${place}`).toBe(false);
      }
    }
  },
);
