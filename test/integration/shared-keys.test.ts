/** Keys in a real Redis as gateways share them: by messages, by reading the changes at intervals, and through outages. */
import type { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { OpenResources } from '../../src/gateway/app/open-resources.ts';
import { createSharedState } from '../../src/gateway/app/shared-state.ts';
import { monitorStore } from '../../src/gateway/app/store-monitor.ts';
import { readEnvironment } from '../../src/gateway/config/settings/environment.ts';
import { eventually, waitUntil } from '../support/eventually.ts';
import { changeKeys, digestOf, keyRecord } from '../support/keys.ts';
import { policySetFrom } from '../support/policies.ts';
import {
  connectTo,
  redisIsHere,
  startRedis,
  type TestRedis,
  testWithOwnRedis,
} from '../support/redis.ts';
import { addShippedAccount, byShippedAccount } from '../support/shipped-account.ts';
import { observedTelemetry } from '../support/telemetry.ts';

const SET = policySetFrom('{ version: 1, default: { limits: [5/1h] } }');
const ADDRESS = 'i.address';

describe.skipIf(!redisIsHere)('gateways that take keys from Redis', () => {
  let started: AsyncDisposableStack;
  let redis: TestRedis;
  let admin: Redis;

  beforeEach(async () => {
    started = new AsyncDisposableStack();
    redis = started.use(await startRedis());
    admin = started.adopt(connectTo(redis), (client) => client.disconnect());
    // It is gone while the server is stopped.
    admin.on('error', () => {});
    await addShippedAccount(redis);
  });
  afterEach(() => started.disposeAsync());

  async function openGateway({ timeoutMs = '5000' } = {}) {
    const resources = started.adopt(new OpenResources(), (opened) => opened.close());
    const { telemetry, lines } = observedTelemetry();
    const monitor = monitorStore(telemetry, Date.now);
    const { keys, connect } = await createSharedState({
      environment: readEnvironment({
        HEADGATE_REDIS_URL: byShippedAccount(redis.url),
        HEADGATE_STORE_TIMEOUT_MS: timeoutMs,
      }),
      policies: { current: { ...SET, keysInStore: true } },
      ...{ telemetry, monitor, resources, now: Date.now, onReset: () => {} },
    });
    expect(await connect()).toBe('counts');
    const planOf = async (key: string) => {
      await keys.lookUp([digestOf(key)], () => ADDRESS);
      return keys.find(digestOf(key))?.plan;
    };
    const metricsOf = async () => (await telemetry.registry.metrics()).split('\n');
    return { keys, planOf, lines, metricsOf };
  }

  const subscribers = async () => {
    const [, count] = (await admin.call('PUBSUB', 'NUMSUB', 'hg:v1:keys')) as [string, number];
    return count;
  };

  test('hear at once of a key that is added, gets another plan, and is revoked', async () => {
    const [own, other] = await Promise.all([openGateway(), openGateway()]);
    await waitUntil('both listen', async () => (await subscribers()) === 2);
    expect(await other.planOf('acme')).toBeUndefined();
    await own.keys.put([keyRecord('acme')]);
    await eventually(
      () => other.planOf('acme'),
      (plan) => plan === 'free',
    );
    await changeKeys(own.keys, 'acme', { plan: 'pro' });
    await eventually(
      () => other.planOf('acme'),
      (plan) => plan === 'pro',
    );
    await own.keys.remove(await own.keys.ofId('acme'));
    const isUnlisted = async () => {
      await other.planOf('acme');
      return (other.keys.find(digestOf('acme'))?.endsMs ?? 0) === 0;
    };
    await waitUntil('the key is unlisted', isUnlisted);
    expect(other.keys.clientOf(keyRecord('acme').partition)?.id).toBe('acme');
  });

  test('report what look-ups came to, and no key, id or digest', async () => {
    const gateway = await openGateway();
    await gateway.keys.put([keyRecord('acme')]);
    expect(await gateway.planOf('acme')).toBe('free');
    expect(await gateway.planOf('invented')).toBeUndefined();
    const metrics = await gateway.metricsOf();
    expect(metrics).toContain('headgate_key_lookups_total{result="found"} 1');
    expect(metrics).toContain('headgate_key_lookups_total{result="unknown"} 1');
    expect(metrics).toContain('headgate_key_changes_unread 0');
    for (const text of ['acme', digestOf('acme'), digestOf('invented')])
      expect(metrics.join('\n')).not.toContain(text);
  });

  test('say so if their account may not read keys or changes: a key is not unknown then', async () => {
    const gateway = await openGateway();
    await gateway.keys.put([keyRecord('acme')]);
    await admin.call('ACL', 'SETUSER', 'headgate', '-getrange', '-xrange');
    expect(await gateway.planOf('acme')).toBeUndefined();
    expect(await gateway.metricsOf()).toContain('headgate_key_lookups_total{result="failed"} 1');
    await waitUntil('changes are not read', async () =>
      (await gateway.metricsOf()).includes('headgate_key_changes_unread 1'),
    );
    const events = gateway.lines().map(({ event }) => event);
    expect(events).toEqual(expect.arrayContaining(['key_lookups_failed', 'key_changes_unread']));
    await admin.call('ACL', 'SETUSER', 'headgate', '+getrange', '+xrange');
    expect(await gateway.planOf('acme')).toBe('free');
    await waitUntil('changes are read', async () =>
      (await gateway.metricsOf()).includes('headgate_key_changes_unread 0'),
    );
  });

  test('read of it at intervals if no message arrives', async () => {
    await admin.call('ACL', 'SETUSER', 'headgate', 'resetchannels');
    const [own, other] = await Promise.all([openGateway(), openGateway()]);
    expect(await other.planOf('acme')).toBeUndefined();
    await own.keys.put([keyRecord('acme')]);
    await eventually(
      () => other.planOf('acme'),
      (plan) => plan === 'free',
    );
  });

  testWithOwnRedis(
    'go on without a Redis that is gone, and drop what they know if it comes back empty',
    async () => {
      const gateway = await openGateway();
      await gateway.keys.put([keyRecord('acme')]);
      expect(await gateway.planOf('acme')).toBe('free');
      const { port } = redis;
      await redis.stop('SIGKILL');
      await waitUntil('the connection is closed', async () => {
        await gateway.planOf('beta');
        return true;
      });
      expect(await gateway.planOf('beta')).toBeUndefined();
      await expect(gateway.keys.put([keyRecord('beta')])).rejects.toThrow();
      // This server has lost everything.
      redis = started.use(await startRedis(port));
      await addShippedAccount(redis);
      await eventually(
        () => gateway.planOf('acme'),
        (plan) => plan === undefined,
      );
      await eventually(
        () =>
          gateway.keys.put([keyRecord('beta')]).then(
            () => gateway.planOf('beta'),
            () => undefined,
          ),
        (plan) => plan === 'free',
      );
    },
  );

  testWithOwnRedis(
    'wait once for a Redis that is frozen, and look keys up again once it answers',
    async () => {
      const gateway = await openGateway({ timeoutMs: '100' });
      await eventually(
        () =>
          gateway.keys.put([keyRecord('acme'), keyRecord('beta')]).then(
            () => true,
            () => false,
          ),
        Boolean,
      );
      await eventually(
        () => gateway.planOf('acme'),
        (plan) => plan === 'free',
      );
      redis.signal('SIGSTOP');
      try {
        await gateway.keys.lookUp([digestOf('beta')], () => ADDRESS);
        // Its deadline has passed, so the next ones go on without it.
        expect(gateway.keys.lookUp([digestOf('gamma')], () => ADDRESS)).toBeUndefined();
      } finally {
        redis.signal('SIGCONT');
      }
      await eventually(
        () => gateway.planOf('beta'),
        (plan) => plan === 'free',
      );
    },
  );
});
