/** How the parts that count in Redis are put together. No Redis answers here. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { OpenResources } from '../../../../../src/gateway/app/open-resources.ts';
import {
  createGuardedCounting,
  type GuardedCountingOptions,
} from '../../../../../src/gateway/app/redis/guarded-counting.ts';
import { inRedis } from '../../../../../src/gateway/app/redis/redis-backend.ts';
import { monitorStore } from '../../../../../src/gateway/app/store-monitor.ts';
import { readEnvironment } from '../../../../../src/gateway/config/settings/environment.ts';
import { parseRedisUrl } from '../../../../../src/gateway/config/settings/redis-url.ts';
import { overIoredis } from '../../../../../src/gateway/stores/redis/counting-connection.ts';
import { TAKE_SCRIPT_SHA } from '../../../../../src/gateway/stores/redis/take-script.ts';
import { descriptorOf } from '../../../../support/quotas.ts';
import { NOON_MS } from '../../../../support/requests.ts';
import {
  admitting,
  type Reply,
  scriptedClient,
} from '../../../../support/scripted-redis-client.ts';
import { observedTelemetry } from '../../../../support/telemetry.ts';

/** Nothing listens there. */
const NOWHERE = 'redis://127.0.0.1:1';

describe('the place of a gateway before Redis answers', () => {
  test.each([
    [{}, { count: 1, rank: 0 }],
    [{ HEADGATE_REPLICAS: '3' }, { count: 3, rank: 0 }],
    [
      { HEADGATE_WORKERS: '4', HEADGATE_WORKER: '2' },
      { count: 4, rank: 2 },
    ],
    [
      { HEADGATE_REPLICAS: '3', HEADGATE_WORKERS: '4', HEADGATE_WORKER: '1' },
      { count: 12, rank: 1 },
    ],
  ])('with %o is among all workers of all gateways', async (settings, place) => {
    const environment = readEnvironment({ HEADGATE_REDIS_URL: NOWHERE, ...settings });
    const { telemetry, metrics } = observedTelemetry();
    const resources = new OpenResources();
    const backend = inRedis({
      target: parseRedisUrl(NOWHERE),
      ...{ environment, telemetry, resources },
      monitor: monitorStore(telemetry, () => NOON_MS),
      events: {
        onReset() {},
        onOverridesChanged() {},
        onKeysChanged() {},
        onUnsettled() {},
        replyTo: async () => undefined,
      },
      now: () => NOON_MS,
    });
    expect(backend.place()).toEqual(place);
    expect(await metrics('script_info')).toEqual([
      `headgate_script_info{sha="${TAKE_SCRIPT_SHA}"} 1`,
    ]);
    await resources.close();
  });
});

const LOGIN = [descriptorOf('login', { limit: 5, windowMs: 60_000 })];

describe('guarded counting', () => {
  let closing: (() => void)[] = [];
  afterEach(() => {
    for (const close of closing) close();
    closing = [];
  });

  function setUp(reply: Reply, options: Partial<GuardedCountingOptions> = {}) {
    const { telemetry, metrics } = observedTelemetry();
    const { client, sent } = scriptedClient(reply);
    const counting = createGuardedCounting({
      connection: overIoredis(client),
      hadContact: () => true,
      target: parseRedisUrl(NOWHERE),
      environment: { storeTimeoutMs: 20, rememberedDenials: 0 },
      monitor: monitorStore(telemetry, () => NOON_MS),
      salts: { isAgreeing: false },
      decisions: telemetry.decisions,
      onUnsettled: () => {},
      ...options,
    });
    closing.push(() => counting.close());
    const take = async () => counting.store.take(LOGIN);
    const outcome = () =>
      take().then(
        () => 'counted',
        ({ reason }) => reason as string,
      );
    return { counting, metrics, outcome, sent };
  }
  const counts: Reply = (command) => admitting(command, NOON_MS);

  test('counts', async () => {
    expect(await setUp(counts).outcome()).toBe('counted');
  });

  test('waits for the gateways to agree on salts', async () => {
    const { outcome, sent } = setUp(counts, { salts: { isAgreeing: true } });
    expect(await outcome()).toBe('given_up');
    expect(sent).toEqual([]);
  });

  test('waits for the first contact over all connections once one of them is open', async () => {
    let hadContact = false;
    const { outcome, sent } = setUp(counts, { hadContact: () => hadContact });
    expect(await outcome()).toBe('given_up');
    expect(sent).toEqual([]);
    hadContact = true;
    expect(await outcome()).toBe('counted');
  });

  test('sheds load while the event loop is late', async () => {
    const { metrics, outcome, sent } = setUp(counts);
    let found = await outcome();
    for (let turn = 0; turn < 50 && found === 'counted'; turn++) {
      // Timers of 10 ms are later than half of the deadline.
      const endMs = performance.now() + 40;
      while (performance.now() < endMs);
      await new Promise((resolve) => setTimeout(resolve, 0));
      found = await outcome();
    }
    expect(found).toBe('overloaded');
    const before = sent.length;
    expect(await outcome()).toBe('overloaded');
    expect(sent).toHaveLength(before);
    expect((await metrics('requests_shed')).join()).toMatch(/ [1-9]/);
  });

  describe('after five late answers', () => {
    beforeEach(() => void vi.useFakeTimers());
    afterEach(() => void vi.useRealTimers());

    async function setUpSilent(onPing: () => unknown) {
      let isSilent = true;
      const lab = setUp((command) => {
        if (command.name === 'ping') return onPing();
        return isSilent ? new Promise(() => {}) : counts(command);
      });
      for (let i = 0; i < 5; i++) {
        const late = lab.outcome();
        await vi.advanceTimersByTimeAsync(25);
        expect(await late).toBe('timeout');
      }
      const outcome = async () => {
        const taken = lab.outcome();
        await vi.advanceTimersByTimeAsync(25);
        return taken;
      };
      expect(await outcome()).toBe('given_up');
      isSilent = false;
      await vi.advanceTimersByTimeAsync(200);
      return outcome;
    }
    class ReplyError extends Error {
      override name = 'ReplyError';
    }

    test('counts again once Redis answers a ping', async () => {
      expect(await (await setUpSilent(() => 'PONG'))()).toBe('counted');
    });

    test('counts again once Redis refuses a ping, which is an answer too', async () => {
      const refuse = () => {
        throw new ReplyError("NOPERM this user has no permissions to run the 'ping' command");
      };
      expect(await (await setUpSilent(refuse))()).toBe('counted');
    });

    test.each(['LOADING Redis is loading', 'ERR something else'])(
      'does not count after another error: %s',
      async (message) => {
        const fail = () => {
          throw new ReplyError(message);
        };
        expect(await (await setUpSilent(fail))()).toBe('given_up');
      },
    );

    test('does not count while no ping is answered', async () => {
      expect(await (await setUpSilent(() => new Promise(() => {})))()).toBe('given_up');
    });
  });
});
