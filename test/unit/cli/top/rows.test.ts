/** Which rows there are, in which order, and which one is chosen. */
import { expect, test } from 'vitest';
import {
  chosenIndex,
  chosenPolicy,
  clientRows,
  denialRateOf,
  denialsOf,
  moved,
  orderName,
  policyRows,
  withNextOrder,
} from '../../../../src/cli/top/rows.ts';
import { received, type TopState, withPane } from '../../../../src/cli/top/state.ts';
import { policyText } from '../../../../src/cli/top/why.ts';
import {
  client,
  NOW_MS,
  policy,
  pressed,
  seriesEnding,
  snapshot,
  stateOf,
} from '../../../support/top.ts';

const POLICIES = [
  policy('search', { requests: seriesEnding(50), denials: seriesEnding(1) }),
  policy('trial', {
    ...{ mode: 'shadow', requests: seriesEnding(20), would_deny: seriesEnding(9) },
    denials: seriesEnding(70),
  }),
  policy('api', { requests: seriesEnding(90), denials: seriesEnding(5) }),
];
const at = (minute: number) => `2026-11-22T11:${minute}:00.000Z`;
const CLIENTS = [
  client('k.b', { denials: 5, policy: 'search', last: at(20), since: at(15), reason: 'blocked' }),
  client('k.a', { denials: 9, policy: 'login', last: at(29), since: at(18) }),
  client('k.c', { denials: 7, policy: 'api', last: at(25), since: at(12) }),
];

/** The rows under each name of an order, until the first comes again. */
function ordersOf(start: TopState, rows: (state: TopState) => string[]) {
  const orders: Record<string, string[]> = {};
  let state = start;
  for (; orders[orderName(state)] === undefined; state = withNextOrder(state))
    orders[orderName(state)] = rows(state);
  expect(state.panes[state.pane].order).toBe(0);
  return orders;
}

test('policies in each order; a shadow policy counts with what it would deny', () => {
  const names = (state: TopState) => policyRows(state).map(({ name }) => name);
  expect(ordersOf(stateOf({ policies: POLICIES }), names)).toEqual({
    'as in the file': ['search', 'trial', 'api'],
    'most denials first': ['trial', 'api', 'search'],
    'most requests first': ['api', 'search', 'trial'],
    'by name': ['api', 'search', 'trial'],
  });
});

test('the rate and the series of a shadow policy are those of what it would deny', () => {
  const [search, trial] = POLICIES as [(typeof POLICIES)[0], (typeof POLICIES)[0]];
  expect([denialRateOf(search), denialRateOf(trial)]).toEqual([0.1, 0.9]);
  expect([denialsOf(search).at(-1), denialsOf(trial).at(-1)]).toEqual([1, 9]);
});

test('clients in each order', () => {
  const { state } = pressed(stateOf({ policies: POLICIES, clients: CLIENTS }), 'tab');
  const names = (of: TopState) => clientRows(of).map((each) => each.client);
  expect(ordersOf(state, names)).toEqual({
    'most denials first': ['k.a', 'k.c', 'k.b'],
    'last denied first': ['k.a', 'k.c', 'k.b'],
    'longest denied first': ['k.c', 'k.b', 'k.a'],
    'by policy': ['k.c', 'k.a', 'k.b'],
    'by client': ['k.a', 'k.b', 'k.c'],
  });
});

test('equal rows stay as they came', () => {
  const equal = ['x', 'y', 'z'].map((name) => policy(name));
  for (let state = stateOf({ policies: equal }), i = 0; i < 4; state = withNextOrder(state), i++)
    expect(policyRows(state).map(({ name }) => name)).toEqual(['x', 'y', 'z']);
});

test('the filter is part of a name, in capitals or not', () => {
  const names = (filter: string) =>
    policyRows(withPane(stateOf({ policies: POLICIES }), { filter })).map(({ name }) => name);
  expect(names('AR')).toEqual(['search']);
  expect(names('a')).toEqual(['search', 'trial', 'api']);
  expect(names('')).toHaveLength(3);
  expect(names('none')).toEqual([]);
});

test.each([
  ['k.B', ['k.b']],
  [' k.b ', ['k.b']],
  ['LOGIN', ['k.a']],
  ['blocked', ['k.b']],
  ['id-of-k.c', ['k.c']],
  ['none', []],
  ['', ['k.a', 'k.c', 'k.b']],
])('clients are filtered by all that names them: %j', (filter, names) => {
  const { state } = pressed(stateOf({ clients: CLIENTS }), 'tab');
  expect(clientRows(withPane(state, { filter })).map((each) => each.client)).toEqual(names);
});

test('what the gateways found for the filter is not filtered again', () => {
  const { state } = pressed(stateOf({ clients: CLIENTS }), 'tab');
  const searched = { ...snapshot({ clients: CLIENTS }), filter: '203.0.113.9' };
  const filtered = withPane(received(state, searched, NOW_MS), { filter: '203.0.113.9' });
  expect(clientRows(filtered)).toHaveLength(3);
  expect(clientRows(withPane(filtered, { filter: '203.0.113.99' }))).toEqual([]);
});

test('one moves from the first row to the last, and not beyond', () => {
  const state = stateOf({ policies: POLICIES });
  const chosen = (by: number, from = state) => chosenIndex(moved(from, by), 'policies');
  expect([chosen(0), chosen(1), chosen(2), chosen(3), chosen(100)]).toEqual([0, 1, 2, 2, 2]);
  expect([chosen(-1), chosen(-1, moved(state, 2)), chosen(-9, moved(state, 2))]).toEqual([0, 1, 0]);
  expect(chosenPolicy(moved(state, 1))?.name).toBe('trial');
});

test('the chosen row is followed in another order, and replaced if it is gone', () => {
  const state = moved(stateOf({ policies: POLICIES }), 2);
  expect(chosenPolicy(withNextOrder(withNextOrder(state)))?.name).toBe('api');
  expect(chosenIndex(withNextOrder(withNextOrder(state)), 'policies')).toBe(0);
  const fewer = received(state, snapshot({ policies: POLICIES.slice(0, 2) }), NOW_MS);
  expect(chosenPolicy(fewer)?.name).toBe('trial');
  const none = received(state, snapshot({}), NOW_MS);
  expect([chosenIndex(none, 'policies'), chosenPolicy(none)]).toEqual([0, undefined]);
  expect(chosenIndex(moved(none, 1), 'policies')).toBe(0);
});

test('a policy is told with its limits, plans, and what it did in the time that is known', () => {
  const full = policy('login', {
    limits: ['5 requests per minute', '50 requests per hour'],
    plans: [{ plan: 'gold', limits: ['9 requests per minute', '90 requests per hour'] }],
    requests: seriesEnding(1_000, 234),
    denials: seriesEnding(30, 4),
    would_deny: seriesEnding(500),
  });
  const lines = (of: typeof full, stepMs = 5_000) =>
    policyText(of, stepMs).map((line) => line.trimEnd().replace(/ {2,}/g, ' | '));
  expect(lines(full)).toEqual([
    'policy | login',
    'mode | enforce',
    'limits | 5 requests per minute',
    ' | 50 requests per hour',
    'plan gold | 9 requests per minute',
    ' | 90 requests per hour',
    'if the store fails | allow',
    'last 15 min | 1,234 requests',
    ' | 34 denied',
  ]);
  const trial = lines({ ...full, mode: 'shadow', plans: [] }, 1_000);
  expect(trial[1]).toBe('mode | shadow, by an operator; enforce in the file');
  expect(trial.slice(-2)).toEqual([
    'last 3 min | 1,234 requests',
    ' | 500 that it would have denied',
  ]);
  expect(lines({ ...full, mode: 'off' }).at(-1)).toBe(' | 34 denied');
});
