/** Which policies are named because no gateway gets the outcomes of their requests. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { unsettledPolicies } from '../../../../src/gateway/operations/unsettled.ts';
import { operatedGateway } from '../../../support/operated-gateway.ts';
import { policySetFrom } from '../../../support/policies.ts';
import { NOON_MS } from '../../../support/requests.ts';
import { limitOf, settlingPolicy } from '../../../support/settling.ts';

const MINUTE_MS = 60_000;
const SET = policySetFrom('version: 1\ndefault: { limits: [1000/1h] }\n');
const PLAIN = settlingPolicy({ name: 'plain', limits: [limitOf({ afterwards: undefined })] });

beforeEach(() => void vi.useFakeTimers({ now: NOON_MS }));
afterEach(() => void vi.useRealTimers());

function setUp(settlements?: object) {
  const report = {
    is_worker: false,
    traffic: [],
    store: { states: ['enforced'], sinceMs: NOON_MS },
    policy_file: { digest: 'b'.repeat(64), sinceMs: NOON_MS },
    actions: [],
    ...(settlements && { settlements }),
  };
  return operatedGateway({
    policies: { ...SET, policies: [settlingPolicy(), PLAIN] },
    now: Date.now,
    peerAnswers: [report],
  });
}
const latest = (minutes: number) => ({
  overdue: [],
  latest: [{ policy: 'completions', lastMs: NOON_MS + minutes * MINUTE_MS }],
});

test('a policy that no gateway settles is named, on the page too', async () => {
  const { gateway, outcomes, operate } = setUp();
  outcomes.reserved('completions', Date.now());
  expect(await unsettledPolicies(gateway)).toEqual([]);
  vi.setSystemTime(NOON_MS + 5 * MINUTE_MS);
  expect(await unsettledPolicies(gateway)).toEqual(['completions']);
  const { unsettled_policies: names, status } = await operate('overview');
  expect(names).toEqual(['completions']);
  expect(status.map(({ text }) => text).join()).toContain(
    'No outcomes are reported for completions',
  );
});

test('the limits of a client say it', async () => {
  const { outcomes, operate } = setUp();
  outcomes.reserved('completions', Date.now());
  const limits = async () => (await operate('inspect', { client: 'key:alice' })).limits;
  expect((await limits()).some((limit) => limit.is_unsettled)).toBe(false);
  vi.setSystemTime(NOON_MS + 5 * MINUTE_MS);
  const found = await limits();
  expect(found.filter((limit) => limit.is_unsettled).map(({ policy }) => policy)).toContain(
    'completions',
  );
  expect(found.some(({ policy, is_unsettled: is }) => policy === 'plain' && is)).toBe(false);
});

test('a policy that another gateway settles is not', async () => {
  const { gateway, outcomes, operate } = setUp(latest(1));
  outcomes.reserved('completions', Date.now());
  vi.setSystemTime(NOON_MS + 5 * MINUTE_MS);
  expect(await operate('overview')).not.toHaveProperty('unsettled_policies');
  expect(await unsettledPolicies(gateway)).toEqual([]);
});

test('a policy that another gateway settled before these requests is', async () => {
  const { gateway, outcomes } = setUp(latest(-1));
  for (let i = 0; i < 11; i++) outcomes.reserved('completions', Date.now());
  vi.setSystemTime(NOON_MS + 5 * MINUTE_MS);
  expect(await unsettledPolicies(gateway)).toEqual(['completions']);
});

test('a policy that charges nothing afterwards any more, or is gone, is not', async () => {
  const { gateway, outcomes, operate } = setUp();
  for (const name of ['plain', 'gone']) outcomes.reserved(name, Date.now());
  vi.setSystemTime(NOON_MS + 5 * MINUTE_MS);
  expect(await unsettledPolicies(gateway)).toEqual([]);
  expect(await operate('overview')).not.toHaveProperty('unsettled_policies');
});
