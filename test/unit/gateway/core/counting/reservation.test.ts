import { expect, test } from 'vitest';
import type { Counted } from '../../../../../src/gateway/core/counting/decision.ts';
import { descriptor } from '../../../../../src/gateway/core/counting/descriptor.ts';
import { reservationOf } from '../../../../../src/gateway/core/counting/reservation.ts';
import { loginPolicy } from '../../../../support/policies.ts';
import { NOON_MS } from '../../../../support/requests.ts';

const { limits } = loginPolicy(
  '[{ rate: 9/1h, algorithm: fixed-window, unit: tokens, reserve: 3, unknown: 3 }, 5/5min, { rate: 5/1h, refund: { status: [204] } }]',
);

function group(parts: Partial<Counted> & { admitted?: boolean; nowMs?: number } = {}): Counted {
  const { admitted = true, nowMs = NOON_MS, ...rest } = parts;
  const descriptors = limits.map((limit) => descriptor(limit, 'i.a'));
  return { descriptors, result: { admitted, states: [], nowMs }, mode: 'enforced', ...rest };
}

const partsOf = (momentMs: number) => [
  { limit: limits[0], partition: 'i.a', units: 3, momentMs },
  { limit: limits[2], partition: 'i.a', units: 1, momentMs },
];

test('has what limits took that charge afterwards', () => {
  expect(reservationOf([group()])).toEqual({
    momentMs: NOON_MS,
    mode: 'enforced',
    parts: partsOf(NOON_MS),
  });
});

test('each part has the moment at which it was taken', () => {
  const reservation = reservationOf([group(), group({ nowMs: NOON_MS + 3 })]);
  expect(reservation).toEqual({
    momentMs: NOON_MS,
    mode: 'enforced',
    parts: [...partsOf(NOON_MS), ...partsOf(NOON_MS + 3)],
  });
});

test('a slot of a cluster has a moment of its own', () => {
  const states = limits.map((_, i) => ({
    ...{ limit: 9, remaining: 6, resetAfterMs: 1, retryAfterMs: 0 },
    ...(i === 2 && { takenAtMs: NOON_MS - 2 }),
  }));
  const reservation = reservationOf([
    group({ result: { admitted: true, states, nowMs: NOON_MS } }),
  ]);
  expect(reservation?.parts.map(({ momentMs }) => momentMs)).toEqual([NOON_MS, NOON_MS - 2]);
});

test('says if this process counted alone', () => {
  expect(reservationOf([group({ mode: 'local' })])).toMatchObject({ mode: 'local' });
});

test.each<[string, Counted[]]>([
  ['there is no group', []],
  ['the request was denied', [group({ admitted: false })]],
  ['nothing counted it', [group({ result: undefined, mode: 'open' })]],
  [
    'its limits charge nothing afterwards',
    [group({ descriptors: limits.slice(1, 2).map((limit) => descriptor(limit, 'i.a')) })],
  ],
])('is undefined if %s', (_, groups) => {
  expect(reservationOf(groups)).toBeUndefined();
});

test('leaves out groups that denied', () => {
  const denied = group({ admitted: false, nowMs: 1 });
  expect(reservationOf([denied, group()])).toEqual(reservationOf([group()]));
});
