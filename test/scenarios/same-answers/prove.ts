/** The long form: a hundred thousand turns of random traffic to the memory store and to the Redis store. */
import { startRedisServer } from '../../support/redis-server.ts';
import { connectClient, openMemoryStore, openRedisStore } from '../../support/stores.ts';
import { defineScenario } from '../scenario.ts';
import { expectSameAnswers, TRAFFICS } from './run.ts';

export const scenario = defineScenario({
  proves: 'the memory store and the Redis store give the same answers to the same traffic',
  takes: '1 min',
  options: { turns: { default: 100_000, least: 1_000, help: 'turns of the event loop' } },
  async prove({ turns }) {
    await using redis = await startRedisServer();
    const client = await connectClient(redis.url);
    const wrong: string[] = [];
    for (const { name, traffic, share } of TRAFFICS) {
      const open = () => openRedisStore(client);
      await expectSameAnswers(traffic, () => openMemoryStore(), open, share * turns).then(
        () => console.log(`${Math.ceil(share * turns)} turns: ${name}`),
        (error: Error) => wrong.push(`${name}: ${error.message}\n${String(error.cause)}`),
      );
    }
    client.disconnect();
    return wrong;
  },
});
