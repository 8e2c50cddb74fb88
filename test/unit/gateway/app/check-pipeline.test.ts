/** From a check to its answer, its log lines and its metrics. */
import { expect, test } from 'vitest';
import {
  type CheckPipelineOptions,
  createCheckPipeline,
  headerReports,
} from '../../../../src/gateway/app/check-pipeline.ts';
import type { CheckRequest } from '../../../../src/gateway/core/check-request.ts';
import type { Decision } from '../../../../src/gateway/core/counting/decision.ts';
import { HeaderWatch } from '../../../../src/gateway/core/header-watch.ts';
import { NO_OVERRIDES } from '../../../../src/gateway/core/overrides.ts';
import { createDenials } from '../../../../src/gateway/denials/denials.ts';
import { DIALECTS } from '../../../../src/gateway/dialects/index.ts';
import { Arrivals, createHandler } from '../../../../src/gateway/server/handler.ts';
import { MemoryStore } from '../../../../src/gateway/stores/memory/memory-store.ts';
import { NO_TRACING, type Tracing } from '../../../../src/gateway/telemetry/tracing/tracing.ts';
import { policySetFrom } from '../../../support/policies.ts';
import { checkRequest, SALTS } from '../../../support/requests.ts';
import { observedTelemetry } from '../../../support/telemetry.ts';

const POLICIES = `
version: 1
identity: { sources: [ip], trusted_proxies: [loopback] }
default: { limits: [100/1h] }
policies:
  - { name: login, match: { path: /login }, limits: [1/1h] }
  - { name: trial, match: { path: /trial }, limits: [1/1h], mode: shadow }
`;

function setUp(tracing: Tracing = NO_TRACING) {
  const observed = observedTelemetry();
  const { telemetry, clock } = observed;
  const now = () => clock.nowMs;
  const memory = new MemoryStore({ now, maxKeys: 100 });
  const denials = createDenials({
    now,
    idOf: () => undefined,
    writeDenied: telemetry.decisions.denied,
    writeWouldBeDenied: telemetry.decisions.wouldBeDenied,
  });
  const shared = {
    backend: { store: memory },
    local: memory,
    salts: { at: () => SALTS },
    overrides: { current: NO_OVERRIDES },
  };
  const handle = createCheckPipeline({
    environment: { redis: undefined } as CheckPipelineOptions['environment'],
    policies: { current: policySetFrom(POLICIES) } as CheckPipelineOptions['policies'],
    shared: shared as unknown as CheckPipelineOptions['shared'],
    denials,
    headerWatch: new HeaderWatch({
      headerUnseen: () => {},
      headerArrived: () => {},
      headerSeen: () => {},
    }),
    telemetry,
    tracing,
    issueToken: undefined,
    handle: createHandler({
      arrivals: new Arrivals(telemetry.decisions.requestAbandoned),
      onDecided(decision, dialect, durationMs) {
        telemetry.decisions.decided(decision, dialect, durationMs);
        denials.decided(decision, dialect, durationMs);
      },
      onFault: telemetry.decisions.checkFailed,
    }),
    now,
  });
  /** Resolves to the decision that a proxy gets, or to undefined if the gateway failed. */
  const check = (parse: () => CheckRequest) =>
    new Promise<Decision | undefined>((resolve) =>
      handle({
        dialect: 'nginx',
        isGone: () => false,
        parse,
        answer: resolve,
        fail: () => resolve(undefined),
      }),
    );
  const visit = (parts: Parameters<typeof checkRequest>[0]) =>
    check(() => checkRequest({ client: '203.0.113.9', ...parts }));
  return { ...observed, check, denials, visit };
}

test('an allowed request is counted, and not logged', async () => {
  const { denials, lines, metrics, visit } = setUp();
  expect((await visit({ target: '/login' }))?.verdict).toBe('allow');
  expect(await metrics('decisions_total')).toEqual([
    'headgate_decisions_total{policy="login",verdict="allow"} 1',
  ]);
  expect(await metrics('identity_total')).toEqual(['headgate_identity_total{kind="ip"} 1']);
  expect(await metrics('unmatched_total')).toEqual(['headgate_unmatched_total 0']);
  expect(lines()).toEqual([]);
  expect(denials.enforced.clients.top(10, 1_000)).toEqual([]);
});

test('a denied request is counted, logged and remembered under the id in its response', async () => {
  const { denials, lines, metrics, visit } = setUp();
  await visit({ target: '/login' });
  const decision = await visit({ target: '/login' });
  const id = decision?.denial?.id ?? '';
  expect(decision?.verdict).toBe('deny');
  expect(lines()).toMatchObject([
    { event: 'denied', decision_id: id, policy: 'login', reason: 'over_limit', dialect: 'nginx' },
  ]);
  expect(await metrics('decisions_total')).toContain(
    'headgate_decisions_total{policy="login",verdict="deny"} 1',
  );
  expect(denials.enforced.clients.find(id)).toMatchObject({ client: { count: 1 } });
  expect(denials.shadow.clients.find(id)).toBeUndefined();
});

test('a denial by a shadow policy is counted, logged and remembered, and the request passes', async () => {
  const { denials, lines, metrics, visit } = setUp();
  await visit({ target: '/trial' });
  expect((await visit({ target: '/trial' }))?.verdict).toBe('allow');
  await new Promise(setImmediate);
  expect(lines()).toMatchObject([{ event: 'would_be_denied', policy: 'trial' }]);
  expect(await metrics('decisions_total')).toContain(
    'headgate_decisions_total{policy="trial",verdict="shadow_deny"} 1',
  );
  const id = String(lines()[0]?.decision_id);
  expect(denials.shadow.clients.find(id)).toMatchObject({ client: { count: 1 } });
  expect(denials.enforced.clients.find(id)).toBeUndefined();
});

test('a repeated check gets the same denial, and is neither counted nor logged again', async () => {
  const { denials, lines, metrics, visit } = setUp();
  await visit({ target: '/login' });
  const requestId = '0123456789abcdef';
  const first = await visit({ target: '/login', requestId });
  const again = await visit({ target: '/login', requestId });
  expect(again?.denial?.id).toBe(first?.denial?.id);
  expect(lines()).toHaveLength(1);
  expect(await metrics('repeated_checks_total')).toEqual(['headgate_repeated_checks_total 1']);
  expect(denials.enforced.clients.top(1, 1_000)).toMatchObject([{ count: 1 }]);
});

test('faults in the set-up of a proxy are reported', async () => {
  const { events, metrics, visit } = setUp();
  await visit({ proxy: '198.51.100.7' });
  await visit({ policy: 'lgin' });
  await visit({ missing: ['x-original-uri'] });
  expect(events()).toEqual(['untrusted_proxy', 'policy_unknown', 'proxy_misconfigured']);
  expect(await metrics('unmatched_total')).not.toEqual(['headgate_unmatched_total 0']);
});

test('a fault is reported, and the failure mode of the proxy applies', async () => {
  const { check, lines } = setUp();
  const answer = await check(() => {
    throw new Error('a bug');
  });
  expect(answer).toBeUndefined();
  expect(lines()).toMatchObject([
    { event: 'check_failed', dialect: 'nginx', err: { message: 'a bug' } },
  ]);
});

test.each(DIALECTS)('an unseen header of $name has a remedy that exists', (dialect) => {
  const { lines, telemetry } = observedTelemetry();
  const reports = headerReports(telemetry.proxies);
  reports.headerUnseen({ dialect: dialect.name, header: 'x-api-key', requests: 1_000 });
  const [line] = lines();
  expect(line?.event).toBe('header_unseen');
  expect(String(line?.msg).includes(`headgate proxy-config ${dialect.name} `)).toBe(
    dialect.hasProxyConfig,
  );
});

test('a header that has arrived is reported', () => {
  const { lines, telemetry } = observedTelemetry();
  headerReports(telemetry.proxies).headerSeen('nginx', 'x-api-key');
  expect(lines()).toMatchObject([{ event: 'header_seen', dialect: 'nginx', header: 'x-api-key' }]);
});

test('a sampled check is told to its span, with what it counts, and another one is not', async () => {
  const told: unknown[] = [];
  const { visit } = setUp({
    close: async () => {},
    startSpan: ({ traceparent }) =>
      traceparent === undefined
        ? undefined
        : {
            startTake(descriptors) {
              told.push(`take of ${descriptors}`);
              return { answered: (admitted) => told.push(admitted), failed: () => {} };
            },
            decided: ({ verdict, policy }) => void told.push(`${verdict} by ${policy}`),
            failed: (error) => void told.push(error),
          },
  });
  const decisions = [
    await visit({ target: '/login' }),
    await visit({ target: '/login', headers: { traceparent: 'sampled' } }),
    await visit({ target: '/', headers: { traceparent: 'sampled' } }),
  ];
  expect(decisions.map((decision) => decision?.verdict)).toEqual(['allow', 'deny', 'allow']);
  expect(told).toEqual([
    'take of 1',
    false,
    'deny by login',
    'take of 1',
    true,
    'allow by default',
  ]);
});
