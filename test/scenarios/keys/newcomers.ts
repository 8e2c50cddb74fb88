/** Many customers at once, at a gateway that was just started and has seen none of their keys. */
import type { GatewayProcess } from '../../support/gateway.ts';
import { startRedisServer } from '../../support/redis-server.ts';
import {
  type Answer,
  addKeys,
  addressOf,
  askAll,
  count,
  type Found,
  ms,
  names,
  startGateways,
  unmet,
  waitsOf,
} from './lab.ts';

const isUnlisted = ({ seen }: Answer) => seen !== 'pro';

/** Customers behind one address, all at once, at a gateway that was just started. */
export async function runNewcomers(deadlineMs: number, customers = 500): Promise<Found> {
  await using lab = new AsyncDisposableStack();
  const redis = lab.use(await startRedisServer());
  const env = {
    HEADGATE_REDIS_URL: redis.url,
    HEADGATE_STORE_TIMEOUT_MS: String(deadlineMs),
  };
  const ids = names(customers, 'customer');
  const [first] = (await startGateways(lab, 1, env)) as [GatewayProcess];
  await addKeys(first, ids, 'pro');
  await first.stop();
  const [gateway] = (await startGateways(lab, 1, env)) as [GatewayProcess];
  const asks = ids.map((id) => ({ id, address: addressOf(1) }));
  const answers = await askAll(gateway, asks);
  const again = await askAll(gateway, asks);
  const waits = waitsOf(answers);
  const unlisted = count(answers, isUnlisted);
  return {
    rows: [
      {
        'after a start': `${customers} customers, 1 address`,
        unlisted: String(unlisted),
        p50: ms(waits.p50),
        max: ms(waits.max),
        'the second time: unlisted': String(count(again, isUnlisted)),
        'p50 ': ms(waitsOf(again).p50),
      },
    ],
    wrong: unmet({ 'no customer is taken for an inventor': count(again, isUnlisted) === 0 }),
    late: unmet({ 'every customer is found at once': unlisted === 0 }),
  };
}
