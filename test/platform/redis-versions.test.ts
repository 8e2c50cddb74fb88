/** The oldest Redis that headgate supports, and the newest Redis and Valkey: they count alike, by the shipped account. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { RedisClient } from '../../src/gateway/stores/redis/client.ts';
import { describeQuotaStore } from '../contract/quota-store.contract.ts';
import { expectSameAnswers, TRAFFICS } from '../scenarios/same-answers/run.ts';
import { PATIENT, startGateway } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { type RedisServer, startRedisServer } from '../support/redis-server.ts';
import { addShippedAccount, byShippedAccount } from '../support/shipped-account.ts';
import { connectClient, openMemoryStore, openRedisStore } from '../support/stores.ts';

/** Of all properties together. */
const TURNS = 2_000;

describe.each(['redis-oldest', 'redis-newest', 'valkey'] as const)('%s', (name) => {
  const program = inject('programs')[name];

  describe.skipIf(program === undefined)('is a store', () => {
    let server: RedisServer;
    let client: RedisClient;

    beforeAll(async () => {
      server = await startRedisServer({ ...(program !== undefined && { program }) });
      await addShippedAccount(server);
      client = await connectClient(byShippedAccount(server.url));
    });
    afterAll(async () => {
      client?.disconnect();
      await server?.[Symbol.asyncDispose]();
    });

    describeQuotaStore(() => openRedisStore(client));

    test.each(TRAFFICS)('that answers as memory does: $name', ({ traffic, share }) =>
      expectSameAnswers(
        traffic,
        () => openMemoryStore(),
        () => openRedisStore(client),
        share * TURNS,
      ),
    );

    test('in which two gateways share one limit', async () => {
      const env = { ...PATIENT, HEADGATE_REDIS_URL: byShippedAccount(server.url) };
      await using one = await startGateway(env);
      await using two = await startGateway(env);
      const codes = await statuses(7, (i) =>
        call((i % 2 === 0 ? one : two).url, '/envoy/api/auth/login', { method: 'POST' }),
      );
      expect(codes).toEqual([200, 200, 200, 200, 200, 429, 429]);
    });
  });
});
