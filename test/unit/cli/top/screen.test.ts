/** What `headgate top` draws. */
import { expect, test } from 'vitest';
import { failed, initialState, received } from '../../../../src/cli/top/state.ts';
import { widthOf } from '../../../../src/cli/top/text.ts';
import {
  client,
  NOW_MS,
  policy,
  pressed,
  seriesEnding,
  shown,
  snapshot,
  stateOf,
} from '../../../support/top.ts';

const POLICIES = [
  policy('login', { requests: seriesEnding(40, 60), denials: seriesEnding(0, 15) }),
  policy('search', { mode: 'shadow', requests: seriesEnding(5), would_deny: seriesEnding(2) }),
];
const CLIENTS = [
  client('k.K9gGyX8OAK8aH8Myj6djqS', {
    ...{ denials: 1_204, decision_id: 'c8f14a5df3e1-1204' },
    ...{ since: '2026-11-22T11:26:00.000Z', until: '2026-11-22T11:34:09.000Z' },
  }),
  client('c.BNa-5EoLeGxNUMMQlirBnz', { client_id: 'acme', plan: 'pro', reason: 'blocked' }),
];

test('80 columns and 24 rows show both tables, how things are, and the keys', () => {
  expect(
    shown(stateOf({ policies: POLICIES, clients: CLIENTS })).map((line) => line.trimEnd()),
  ).toMatchInlineSnapshot(`
    [
      "headgate top gateway-1                                              11:30:00 UTC",
      "14.3 % of the requests were denied in the last 10 s, most of them by login.",
      "An operator set search to shadow; the policy file says enforce.",
      "In the last 10 s: 11 requests/s, 14.3 % denied.",
      "redis 7.0.15: counting; 1 gateway; policy file fe00ff077433 since 11:30:00",
      "",
      "  POLICY  MODE     REQ/S  15 MIN           DENIED/S  15 MIN",
      "> login   enforce     10                █       1.5                █",
      "  search  shadow*    0.5                █     (0.2)                █",
      "",
      "  CLIENT               POLICY  DENIALS  UNTIL     DECISION",
      "  k.K9gGyX8OAK8aH8My…  login     1,204  11:34:09  c8f14a5df3e1-1204",
      "  id:acme (plan pro)   login         1            id-of-c.BNa-5EoLeGxNUMMQlirBnz",
      "",
      "",
      "",
      "",
      "",
      "",
      "",
      "",
      "",
      "policies (2): as in the file",
      "Tab table  Enter why  r reset  b block  e exempt  l lift  m mode  ? help  q quit",
    ]
  `);
});

test('policies: the mean of the last 10 seconds; in parentheses what a shadow policy would deny', () => {
  const lines = shown(stateOf({ policies: POLICIES }));
  expect(lines).toContainEqual(expect.stringMatching(/^> login +enforce +10 .* 1\.5 /));
  expect(lines).toContainEqual(expect.stringMatching(/^ {2}search +shadow\* +0\.5 .* \(0\.2\) /));
});

test.each([
  [200, 60],
  [80, 24],
  [60, 20],
  [40, 12],
  [20, 6],
  [5, 3],
  [1, 1],
])('%i columns and %i rows: the lines fill the rows and stay in the width', (columns, rows) => {
  const wide = policy('\u65e5\u672c'.repeat(30), { limits: ['x'.repeat(300)] });
  const start = stateOf({ policies: [...POLICIES, wide], clients: CLIENTS });
  const states = [
    start,
    pressed(start, '?').state,
    pressed(start, 'end', 'return').state,
    pressed(start, 'tab', 'b', '"because"').state,
    pressed(start, '/', '"abc"').state,
    failed(start, 'x '.repeat(200), NOW_MS),
    initialState('http://127.0.0.1:9464', NOW_MS),
  ];
  for (const state of states) {
    const lines = shown(state, columns, rows);
    expect(lines).toHaveLength(rows);
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
  }
});

test('a narrow terminal keeps names and denials, a wide one has more', () => {
  const state = stateOf({ policies: POLICIES, clients: CLIENTS });
  const narrow = shown(state, 34, 24).join('\n');
  expect(narrow).toMatch(/^ {2}POLICY +MODE +REQ\/S +DENIED\/S$/m);
  expect(narrow).toMatch(/^ {2}CLIENT +POLICY +DENIALS$/m);
  const wide = shown(state, 140, 24).join('\n');
  expect(wide).toContain('11:26:00 (4 min ago)');
  expect(wide).toContain('11:34:09 (in 4 min)');
});

test('a terminal with few rows shows the table that has the keys', () => {
  const state = stateOf({ policies: POLICIES, clients: CLIENTS });
  expect(shown(state, 80, 8).join('\n')).not.toContain('CLIENT');
  expect(shown(pressed(state, 'tab').state, 80, 8).join('\n')).toContain('id:acme (plan pro)');
});

test('the chosen row is in sight, and the head says what part that is', () => {
  const many = Array.from({ length: 50 }, (_, i) => client(`k.${i}`, { denials: 50 - i }));
  const { state } = pressed(stateOf({ clients: many }), 'tab', 'end');
  const lines = shown(state);
  expect(lines).toContainEqual(expect.stringMatching(/^> k\.49 /));
  expect(lines).toContainEqual(expect.stringMatching(/CLIENT.* to 50 of 50$/));
});

test('without data it says what it waits for', () => {
  const waiting = initialState('http://127.0.0.1:9464', NOW_MS);
  expect(shown(waiting)[1]).toBe('Waiting for the gateway ...');
  expect(shown(failed(waiting, 'no gateway answers', NOW_MS))[1]).toBe(
    'No data yet: no gateway answers. Trying again.',
  );
});

test('if the gateway is gone, the last data stay and have an age', () => {
  const state = failed(stateOf({ policies: POLICIES }), 'no gateway answers', NOW_MS + 12_000);
  const lines = shown(state);
  expect(lines[1]).toBe('Data of 12 s ago: no gateway answers. Trying again.');
  expect(lines.join('\n')).toContain('login');
  const back = received(state, snapshot({ policies: POLICIES }), NOW_MS + 14_000);
  expect(shown(back)[1]).toMatch(/^14\.3 % of the requests were denied/);
});

test('foreign text is escaped before it is measured', () => {
  const state = stateOf({ clients: [client('\u001b[2J\u202e', { policy: '\u009b2J' })] });
  expect(shown(state).join('\n')).toMatch(/\\u\{1b\}\[2J\\u\{202e\} +\\u\{9b\}2J/);
});

test('what the gateways found is shown, and while they search, what is known', () => {
  const { state: typed } = pressed(stateOf({ clients: CLIENTS }), 'tab', '/', '"203.0.113.9"');
  expect(shown(typed).join('\n')).toContain('searching ...');
  const clients = [client('i.found')];
  const searched = { ...snapshot({ clients }), filter: '203.0.113.9' };
  expect(shown(received(typed, searched, NOW_MS)).join('\n')).toContain('i.found');
  const none = { ...snapshot({}), filter: '203.0.113.9' };
  expect(shown(received(typed, none, NOW_MS)).join('\n')).toContain(
    'no client that was denied in the last five minutes matches the filter',
  );
});
