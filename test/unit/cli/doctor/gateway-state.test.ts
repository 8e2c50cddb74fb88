import { expect, test } from 'vitest';
import { gatewayState } from '../../../../src/cli/doctor/gateway-state.ts';
import { answering, NO_OUTCOMES, timeouts } from './local-answers.ts';

async function stateOf(metrics: readonly string[]) {
  await using gateway = await answering(() => ({ body: metrics.join('\n') }));
  const state = await gatewayState(gateway.url);
  expect(gateway.asked).toEqual(['GET /metrics']);
  return state;
}

test('the counters of all series are added, and others are left out', async () => {
  const state = await stateOf([
    '# TYPE headgate_decisions_total counter',
    'headgate_config_info{sha256="old"} 1',
    'headgate_config_info{sha256="new"} 1',
    'headgate_config_last_success_timestamp_seconds 1700000000.5',
    'headgate_config_last_reload_successful 1',
    'headgate_decisions_total{policy="login",verdict="allow"} 5',
    'headgate_decisions_total{policy="login",verdict="deny"} 2',
    'headgate_decisions_total{policy="api",verdict="deny"} 3',
    'headgate_decisions_total_more{verdict="deny"} 1000',
    'other_decisions_total{verdict="deny"} 1000',
    'headgate_decisions_total{verdict="deny"} 1000 or so',
    'headgate_untrusted_proxy_requests_total{dialect="nginx"} 7',
    'headgate_untrusted_proxy_requests_total{dialect="envoy"} 1',
    'headgate_strangers_refused_total 4',
    'headgate_plan_total{plan="pro"} 8',
    'headgate_plan_total{plan="unknown"} 3',
    'headgate_header_seen{dialect="nginx",header="x-api-key"} 1',
    'headgate_header_seen{dialect="caddy",header="authorization"} 1',
    'headgate_header_seen{dialect="caddy"} 1',
    'headgate_reservations_total{policy="login"} 7',
    'headgate_settlements_total{policy="login",channel="settle",result="settled"} 4',
    'headgate_settlements_total{policy="login",channel="envoy",result="gone"} 1',
    'headgate_settlements_total{policy="none",channel="settle",result="forged"} 2',
  ]);
  expect(state).toEqual({
    digests: ['old', 'new'],
    loadedMs: 1_700_000_000_500,
    hasRefused: false,
    checks: 10,
    denied: 5,
    untrusted: 8,
    unknownPlans: 3,
    refused: 4,
    seenHeaders: new Set(['x-api-key', 'authorization']),
    outcomes: {
      reservations: new Map([['login', 7]]),
      settlements: new Map([
        ['login', 5],
        ['none', 2],
      ]),
      channels: new Set(['settle', 'envoy']),
      refusedReports: 0,
      unknownTokens: 2,
    },
  });
});

test('a gateway that has counted nothing has zeros, and no time of a reload', async () => {
  expect(await stateOf(['headgate_config_info{sha256="one"} 1'])).toEqual({
    digests: ['one'],
    loadedMs: undefined,
    hasRefused: false,
    checks: 0,
    denied: 0,
    untrusted: 0,
    unknownPlans: 0,
    refused: 0,
    seenHeaders: new Set(),
    outcomes: NO_OUTCOMES,
  });
});

test('one worker that refused the newer file is enough', async () => {
  const state = await stateOf([
    'headgate_config_info{sha256="one"} 1',
    'headgate_config_last_reload_successful{worker="1"} 1',
    'headgate_config_last_reload_successful{worker="2"} 0',
  ]);
  expect(state?.hasRefused).toBe(true);
});

test('metrics of another program are no gateway', async () => {
  expect(await stateOf(['process_cpu_seconds_total 1', ''])).toBeUndefined();
  expect(await stateOf(['headgate_decisions_total{verdict="allow"} 5'])).toBeUndefined();
});

test('nothing answers', async () => {
  const gateway = await answering(() => ({}));
  await gateway[Symbol.asyncDispose]();
  expect(await gatewayState(gateway.url)).toBeUndefined();
});

test('a gateway with much to tell has five seconds', async () => {
  timeouts.mockClear();
  await stateOf([]);
  expect(timeouts.mock.calls).toEqual([[5_000]]);
});
