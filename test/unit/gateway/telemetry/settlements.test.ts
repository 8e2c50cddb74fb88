import { expect, test } from 'vitest';
import { observedTelemetry } from '../../../support/telemetry.ts';

test('reservations and settlements are counted, and what waits', async () => {
  const { telemetry, metrics } = observedTelemetry();
  const { settlements } = telemetry;
  settlements.reserved('login');
  settlements.counted('login', 'settle', 'waiting');
  settlements.waiting(3);
  expect(await metrics('reservations')).toEqual(['headgate_reservations_total{policy="login"} 1']);
  expect(await metrics('settlements')).toEqual([
    'headgate_settlements_total{policy="login",channel="settle",result="waiting"} 1',
    'headgate_settlements_waiting 3',
  ]);
});

test('what is lost is logged once a minute, with how many', () => {
  const { telemetry, lines, clock } = observedTelemetry();
  for (let i = 0; i < 100; i++) telemetry.settlements.lost(1);
  expect(lines()).toMatchObject([{ event: 'settlements_lost', settlements: 1 }]);
  clock.nowMs += 60_000;
  telemetry.settlements.lost(2);
  expect(lines()[1]).toMatchObject({ event: 'settlements_lost', settlements: 101 });
});

test('policies whose outcomes nobody reports are logged when others are concerned', () => {
  const { telemetry, lines } = observedTelemetry();
  const { unsettled } = telemetry.settlements;
  unsettled([]);
  unsettled(['login']);
  unsettled(['login']);
  unsettled([]);
  unsettled(['login']);
  expect(lines().map(({ policies }) => policies)).toEqual([['login'], ['login']]);
  unsettled(Array.from({ length: 25 }, (_, i) => `policy-${i}`));
  expect(lines()[2]).toMatchObject({ more: 5, policies: expect.arrayContaining(['policy-0']) });
});

test('reports without the secret are counted, and logged once a minute', async () => {
  const { telemetry, lines, metrics } = observedTelemetry();
  for (let i = 0; i < 3; i++) telemetry.settlements.refused();
  expect(lines()).toMatchObject([{ event: 'report_refused' }]);
  expect(await metrics('settlements_total')).toEqual([
    'headgate_settlements_total{policy="none",channel="settle",result="refused"} 3',
  ]);
});
