/** A limit that is reported as `limit-never-binds` denies no request, for any sequence of requests. */
import { hash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { describe as describeLimits } from '../../../../../src/gateway/core/counting/descriptor.ts';
import { MemoryStore } from '../../../../../src/gateway/stores/memory/memory-store.ts';
import { policySetFrom } from '../../../../support/policies.ts';
import { AT_NOON, checkRequest, NOON_MS, SALTS } from '../../../../support/requests.ts';
import { diagnosticsIn } from './diagnostics-in.ts';

const LISTED = 'listed';
const TENANT = 'x-tenant';

const pers = fc.constantFrom('client', 'ip', 'api_key', 'header:x-tenant');
const windows = fc.constantFrom(3, 5, 7, 10, 20);
const limits = fc
  .tuple(
    pers,
    fc.uniqueArray(windows, { minLength: 2, maxLength: 3 }),
    fc.array(fc.nat(29), { minLength: 3 }),
  )
  .map(([per, seconds, counts]) =>
    seconds.map((window, i) => ({ per, window, count: 3 + (counts[i] ?? 0) })),
  );
type WrittenLimits = readonly { per: string; window: number; count: number }[];

const textOf = (written: WrittenLimits) =>
  written
    .map(({ per, window, count }) => `{ rate: ${count}/${window}s, per: "${per}" }`)
    .join(', ');

const files = fc
  .record({
    limits,
    plan: limits,
    factor: fc.integer({ min: 1, max: 3 }),
    cost: fc.integer({ min: 1, max: 3 }),
  })
  .map(({ limits: written, plan, factor, cost }) => {
    const key = `{ id: a, plan: pro, sha256: ${hash('sha256', LISTED, 'hex')} }`;
    return `
version: 1
identity: { sources: [api_key, ip], api_key: { unverified_factor: ${factor}, keys: [${key}] } }
default: { cost: ${cost}, limits: [${textOf(written)}], plans: { pro: [${textOf(plan)}] } }`;
  })
  .filter((text) => diagnosticsIn(text).some(({ rule }) => rule === 'limit-never-binds'));

/** One address, with and without keys and tenants. */
const request = fc.record({
  pauseMs: fc.oneof(fc.constant(0), fc.nat(4_000)),
  times: fc.integer({ min: 1, max: 20 }),
  headers: fc.constantFrom(
    {},
    { 'x-api-key': LISTED },
    { 'x-api-key': 'unlisted' },
    { [TENANT]: 'one' },
    { 'x-api-key': LISTED, [TENANT]: 'one' },
  ),
});

test('each denied request exceeds a limit that is not reported', () => {
  let denials = 0;
  const property = fc.property(
    files,
    fc.array(request, { minLength: 20, maxLength: 60 }),
    (text, requests) => {
      const policySet = policySetFrom(text);
      const [policy] = policySet.policies;
      const idle = new Set(
        diagnosticsIn(text)
          .filter(({ rule }) => rule === 'limit-never-binds')
          .map(({ path }) => path),
      );
      const pathOf = new Map<string, string>();
      const name = (labels: readonly { label: string }[] = [], list: string) => {
        for (const [i, { label }] of labels.entries())
          pathOf.set(`${list} ${label}`, `${list}[${i}]`);
      };
      name(policy?.limits, 'default.limits');
      name(policy?.plans.get('pro'), 'default.plans.pro');
      const clock = { nowMs: NOON_MS };
      const store = new MemoryStore({ now: () => clock.nowMs, maxKeys: 100 });
      for (const { pauseMs, times, headers } of requests) {
        clock.nowMs += pauseMs;
        const client = policySet.identify(checkRequest({ headers }), AT_NOON);
        const list = client.plan === undefined ? 'default.limits' : 'default.plans.pro';
        const descriptors = describeLimits(policySet.policies, client, {
          salts: SALTS,
          nowMs: clock.nowMs,
        });
        for (let i = 0; i < times; i++) {
          const { admitted, states } = store.take(descriptors);
          if (admitted) continue;
          denials++;
          const full = descriptors.filter((_, at) => (states[at]?.retryAfterMs ?? 0) > 0);
          const binding = full.filter(
            ({ source }) =>
              !idle.has(pathOf.get(`${list} ${source.label.replace(':unverified', '')}`) ?? ''),
          );
          expect(binding, text).not.toEqual([]);
        }
      }
    },
  );
  fc.assert(property, { numRuns: 70, seed: 20_261_201 });
  expect(denials).toBeGreaterThan(1_000);
});
