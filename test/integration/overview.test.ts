/** The overview at one gateway shows what all gateways on one Redis did, and how they are. */

import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Output } from '../../src/gateway/operations/operation-table.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import {
  operate,
  override,
  policyFile,
  setMode,
  startOperatedProcess,
  visit,
} from '../support/operations.ts';
import { ownRedisIsHere } from '../support/redis.ts';
import { lookAt, type RedisNode, startRedisNode } from '../support/redis-node.ts';

const QUESTIONS = 'hg:v1:questions';
const WITHIN_MS = 60_000;
const STORE_TIMEOUT = { HEADGATE_STORE_TIMEOUT_MS: '2000' };

const started = new AsyncDisposableStack();
let redis: RedisNode;
let policies: string;
let one: Gateway;
let two: Gateway;
/** Has two workers. */
let many: Gateway;

const overviewAt = async (gateway: Gateway) => {
  const { status, answer } = await operate<Output<'overview'>>(gateway, 'GET /v1/overview');
  expect(status).toBe(200);
  return answer;
};

const sum = (counts: readonly number[] = []) => counts.reduce((a, b) => a + b, 0);

function countsIn({ policies: listed }: Output<'overview'>, name: string) {
  const found = listed.find((policy) => policy.name === name);
  return [sum(found?.requests), sum(found?.denials), sum(found?.would_deny)];
}

const until = (gateway: Gateway, isSo: (overview: Output<'overview'>) => boolean, what: string) =>
  eventually(() => overviewAt(gateway), isSo, WITHIN_MS, what);

beforeAll(async () => {
  if (!ownRedisIsHere) return;
  redis = started.use(
    await startRedisNode({
      args: (port) => ['--port', `${port}`, '--bind', '127.0.0.1', '--save', ''],
    }),
  );
  policies = policyFile(started);
  const env = { HEADGATE_REDIS_URL: redis.url, HEADGATE_POLICIES: policies, ...STORE_TIMEOUT };
  one = started.use(await startGateway(env, { reloads: true }));
  two = started.use(await startGateway(env));
  many = started.use(await startOperatedProcess(policies, { ...env, HEADGATE_WORKERS: '2' }));
}, 60_000);
afterAll(() => started.disposeAsync());

describe.skipIf(!ownRedisIsHere)('the overview', () => {
  test('adds up the traffic of all gateways and workers, and each shows the same', async () => {
    await setMode(one, 'search', 'shadow');
    const gateways = [one, two, many];
    await until(many, ({ policies: [, , , , search] }) => search?.mode === 'shadow', 'the mode');
    for (const [i, gateway] of gateways.entries()) {
      const visitor = { address: `198.51.100.${10 + i}` };
      // The limit is 2 a day.
      for (let n = 0; n < 4; n++) await visit(gateway, 'POST /pin', visitor);
      for (let n = 0; n < 5; n++) await visit(gateway, '/api/search', visitor);
    }
    for (const gateway of gateways) {
      const overview = await until(
        gateway,
        (each) => countsIn(each, 'pin')[0] === 12 && countsIn(each, 'search')[0] === 15,
        `all requests at ${gateway.opsUrl}`,
      );
      expect(overview.gateways).toEqual({ asked: 4, answered: 4, workers: 2 });
      expect(countsIn(overview, 'pin')).toEqual([12, 6, 0]);
      expect(countsIn(overview, 'search')).toEqual([15, 0, 0]);
      expect(overview.store).toMatchObject({
        kind: 'redis',
        states: [{ state: 'enforced', gateways: 4 }],
        version: expect.stringMatching(/^\d+\.\d+/),
      });
      expect(overview.policy_file.digests).toMatchObject([{ gateways: 4 }]);
      expect(Date.parse(overview.until) % overview.step_ms).toBe(0);
    }
  });

  test('has the actions of other gateways, newest first', async () => {
    await setMode(one, 'tokens', 'off', { reason: 'first' });
    await operate(many, 'DELETE /v1/policies/tokens/mode?by=bob');
    const { actions } = await until(
      two,
      (overview) => overview.actions[0]?.by === 'bob',
      'the last action',
    );
    expect(actions).toMatchObject([
      { action: 'mode', subject: 'tokens', change: 'as the policy file says', is_confirmed: true },
      { action: 'mode', subject: 'tokens', change: 'off', by: 'test', reason: 'first' },
      { action: 'mode', subject: 'search', change: 'shadow' },
    ]);
  });

  test('is not all: what is left for a client is the same at each gateway', async () => {
    await visit(one, '/api/search', { address: '192.0.2.77' });
    await visit(one, 'POST /tokens', { address: '192.0.2.77' });
    await visit(two, 'POST /tokens', { address: '192.0.2.77' });
    await override(two, 'block', '192.0.2.77');
    for (const gateway of [one, two, many]) {
      const found = await eventually(
        () =>
          operate<Output<'inspect'>>(gateway, 'POST /v1/clients/inspect', { client: '192.0.2.77' }),
        ({ answer }) => answer.overrides.length > 0,
        WITHIN_MS,
      );
      expect(found.answer.limits.slice(0, 2)).toMatchObject([
        { policy: 'tokens', allows: '4 requests per day', remaining: 2, retry_after_ms: 0 },
        { policy: 'search', remaining: 99 },
      ]);
      expect(found.answer.overrides).toMatchObject([{ access: 'blocked', by: 'test' }]);
    }
  });

  test('refuses the answers of an account that poses as a gateway', async () => {
    const [listener, forger] = [lookAt(redis), lookAt(redis)];
    const good = {
      ...{ is_worker: false, traffic: [], actions: [] },
      store: { states: ['closed'], sinceMs: 0, reason: 'forged' },
      policy_file: { digest: 'f'.repeat(64), sinceMs: 0 },
    };
    const series = (first: unknown) => [first, ...new Array<number>(179).fill(0)];
    const counted = (first: unknown) => [
      { policy: 'pin', requests: series(first), denials: [], wouldDeny: [] },
    ];
    const bad = [
      ...[null, 7, 'x', [], {}, [good], { ...good, policy_file: null }],
      { ...good, store: { ...good.store, reason: '\u001b[2J' } },
      { ...good, store: { ...good.store, sinceMs: 1e300 } },
      { ...good, policy_file: { digest: '<img src=x>', sinceMs: 0 } },
      ...[-1, 0.5, '9', null, 1e15].map((first) => ({ ...good, traffic: counted(first) })),
      { ...good, actions: [{ at: 'never' }] },
    ];
    const asked = new Set<string>();
    await listener.subscribe(QUESTIONS);
    listener.on('message', (_channel, message: string) => {
      const { id, replyTo } = JSON.parse(message);
      asked.add(id);
      for (const answer of bad) void forger.publish(replyTo, JSON.stringify({ id, answer }));
      void forger.publish(replyTo, '['.repeat(100_000));
    });
    for (let i = 0; i < 3; i++) {
      // A gateway keeps the answers of the others for a second.
      const overview = await eventually(
        () => overviewAt(one),
        () => asked.size > i,
      );
      expect(overview.store.states.map(({ state }) => state)).toEqual(['enforced']);
      expect(overview.policy_file.digests).toHaveLength(1);
      expect(overview.gateways.answered).toBeLessThanOrEqual(4);
      expect(countsIn(overview, 'pin')[0]).toBeLessThanOrEqual(12);
      expect(JSON.stringify(overview)).not.toContain('forged');
    }
    expect(asked.size).toBeGreaterThanOrEqual(3);
    listener.disconnect();
    forger.disconnect();
  });

  test('has a refused policy file with its mistakes, and each file in force', async () => {
    const { policy_file: before } = await until(
      two,
      ({ gateways }) => gateways.answered === 4,
      'the answers of all gateways',
    );
    const [{ digest } = { digest: '' }] = before.digests;
    writeFileSync(policies, 'version: 1\ndefault: { limits: [lots] }\n');
    const { policy_file: file } = await until(
      two,
      ({ policy_file, gateways }) => policy_file.refused !== undefined && gateways.answered === 4,
      'the refused file',
    );
    expect(file.refused?.mistakes.join()).toMatch(/policies\.yaml:2:.*default/);
    expect(file.digests).toEqual(before.digests);
    writeFileSync(policies, 'version: 1\ndefault: { limits: [9/1h] }\n');
    const { policy_file: after } = await until(
      one,
      (overview) =>
        overview.policy_file.refused === undefined && overview.policy_file.digests.length > 1,
      'the new file',
    );
    expect(after.digests).toHaveLength(2);
    expect(after.digests).toContainEqual(expect.objectContaining({ digest }));
  });

  test('says how requests are decided while Redis is away, and when it is back', async () => {
    await redis.stop();
    const away = await until(
      one,
      ({ store }) => store.states[0]?.state === 'open',
      'the state without Redis',
    );
    expect(away.store.version).toBeUndefined();
    expect(away.gateways).toMatchObject({ asked: 4, answered: 1 });
    const [state] = away.store.states;
    expect(state).toMatchObject({ state: 'open', gateways: 1, reason: expect.any(String) });
    expect(Date.now() - Date.parse(state?.since ?? '')).toBeLessThan(WITHIN_MS);
    await redis.startAgain();
    const back = await until(
      one,
      ({ store, gateways }) =>
        gateways.answered === 4 && store.states.every((each) => each.state === 'enforced'),
      'enforced again',
    );
    expect(back.store.states.reduce((count, { gateways }) => count + gateways, 0)).toBe(4);
    expect(back.store.version).toBeDefined();
  });
});

test('has a proxy that is not trusted, until a policy file that trusts it is loaded', async () => {
  await using lab = new AsyncDisposableStack();
  const file = policyFile(lab);
  const trusted = readFileSync(file, 'utf8');
  writeFileSync(file, trusted.replace('[loopback]', '[192.0.2.1]'));
  const gateway = lab.use(await startGateway({ HEADGATE_POLICIES: file }, { reloads: true }));
  expect(await overviewAt(gateway)).not.toHaveProperty('untrusted_proxy');
  const { untrusted_proxy: found } = await eventually(
    async () => {
      await visit(gateway, '/a');
      return overviewAt(gateway);
    },
    (overview) => overview.untrusted_proxy !== undefined,
    WITHIN_MS,
    'the proxy',
  );
  expect(found).toMatchObject({ gateways: 1 });
  writeFileSync(file, trusted);
  await until(gateway, (overview) => overview.untrusted_proxy === undefined, 'trust');
});
