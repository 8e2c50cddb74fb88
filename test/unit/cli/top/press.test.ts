/** What keys do in `headgate top`. */
import { describe, expect, test } from 'vitest';
import { received } from '../../../../src/cli/top/state.ts';
import { client, NOW_MS, policy, pressed, shown, snapshot, stateOf } from '../../../support/top.ts';

const POLICIES = [policy('login'), policy('search')];
const CLIENTS = [
  client('i.first', { denials: 9, decision_id: 'aaa-9' }),
  client('c.second', { denials: 5, decision_id: 'bbb-5', client_id: 'acme', policy: 'search' }),
  client('i.third', { denials: 1, decision_id: 'ccc-1' }),
];
const START = stateOf({ policies: POLICIES, clients: CLIENTS });
const chosenLine = (state: typeof START) => shown(state).find((line) => line.startsWith('> '));

test('arrows, j and k choose; Tab goes to the other table', () => {
  expect(chosenLine(START)).toMatch(/^> login/);
  expect(chosenLine(pressed(START, 'down').state)).toMatch(/^> search/);
  expect(chosenLine(pressed(START, 'j', 'j', 'j', 'k').state)).toMatch(/^> login/);
  expect(chosenLine(pressed(START, 'tab', 'j').state)).toMatch(/^> id:acme/);
  expect(chosenLine(pressed(START, 'tab', 'tab').state)).toMatch(/^> login/);
});

test('the chosen client stays chosen while others overtake it; if it is gone, the next is chosen', () => {
  const { state } = pressed(START, 'tab');
  const overtaken = CLIENTS.map((each, i) => ({ ...each, denials: i }));
  const after = received(state, snapshot({ clients: overtaken }), NOW_MS);
  expect(chosenLine(after)).toMatch(/^> i\.first/);
  const gone = received(state, snapshot({ clients: CLIENTS.slice(1) }), NOW_MS);
  expect(chosenLine(gone)).toMatch(/^> id:acme/);
});

test('the line below the tables counts the rows of the chosen table', () => {
  expect(shown(START)).toContainEqual(expect.stringMatching(/^policies \(2\): /));
  expect(shown(pressed(START, 'tab').state)).toContainEqual(
    expect.stringMatching(/^clients \(3\): /),
  );
});

test('s sorts, / filters, Esc shows all rows again', () => {
  const { state: sorted } = pressed(START, 'tab', 's', 's', 's', 's');
  expect(shown(sorted)).toContainEqual(expect.stringMatching(/^clients \(3\): by client/));
  const { state: filtering } = pressed(START, 'tab', '/', '"ACM"');
  expect(shown(filtering).join('\n')).not.toContain('i.first');
  expect(shown(filtering)).toContainEqual('Only clients with: ACM ');
  const { state: filtered } = pressed(filtering, 'return');
  expect(chosenLine(filtered)).toMatch(/^> id:acme/);
  expect(pressed(filtering, 'return').effect).toEqual({ kind: 'refresh' });
  for (const key of ['escape', 'backspace']) {
    const { state: all, effect } = pressed(filtered, key);
    expect(shown(all).join('\n')).toContain('i.first');
    expect(effect).toEqual({ kind: 'refresh' });
  }
  expect(shown(pressed(filtering, 'backspace', 'backspace', 'x').state).join('\n')).toContain(
    'searching ...',
  );
});

test('q, Ctrl+C and ? ', () => {
  expect(pressed(START, 'q').effect).toEqual({ kind: 'quit' });
  const { state: help } = pressed(START, '?');
  expect(shown(help)).toContainEqual(expect.stringMatching(/^Tab +go to the other table/));
  expect(shown(pressed(help, 'x').state)).toEqual(shown(START));
  expect(pressed(help, 'q').effect).toEqual({ kind: 'quit' });
  expect(shown(help).join('\n')).toMatch(
    /^Esc +go back .*\(also Backspace\)\nq +quit, from a detail too$/m,
  );
});

test('q quits in a detail too; Esc and Backspace go back', () => {
  for (const keys of [
    ['j', 'return'],
    ['tab', 'return'],
  ]) {
    const { state } = pressed(START, ...keys);
    expect(state.why).toBeDefined();
    expect(pressed(state, 'q').effect).toEqual({ kind: 'quit' });
    expect(pressed(state, 'escape').state.why).toBeUndefined();
    expect(pressed(state, 'backspace').state.why).toBeUndefined();
  }
  const { state: typing } = pressed(START, '/', 'q');
  expect(typing.panes.policies.filter).toBe('q');
});

test('Enter asks why a client is denied; what is asked meanwhile is about that client', () => {
  const { state, effect } = pressed(START, 'tab', 'j', 'return');
  expect(effect).toEqual({ kind: 'explain', client: CLIENTS[1] });
  const { state: asked } = pressed(state, 'b');
  expect(asked.form?.subject).toEqual({ id: 'bbb-5', name: 'id:acme' });
  expect(pressed(state, 'escape').state.why).toBeUndefined();
});

test('Enter shows what a policy is', () => {
  const { state, effect } = pressed(START, 'j', 'return');
  expect(effect).toBeUndefined();
  expect(shown(state).join('\n')).toMatch(/policy +search\nmode +enforce\n/);
});

describe('an action', () => {
  test('reset: a reason, if any, and a confirmation', () => {
    const { state, effect } = pressed(START, 'tab', 'r', '"ticket 4711"', 'return');
    expect(effect).toBeUndefined();
    expect(shown(state)).toContainEqual(
      'Reset the counters of i.first in all policies, "ticket 4711"?',
    );
    const done = pressed(state, 'y');
    expect(done.effect).toMatchObject({
      kind: 'change',
      form: { action: 'reset', subject: { id: 'aaa-9' }, answers: { reason: 'ticket 4711' } },
    });
    expect(shown(done.state)).toContainEqual('reset i.first ...');
    expect(pressed(START, 'tab', 'r', 'return', 'y').effect).toMatchObject({ kind: 'change' });
  });

  test('block and exempt: a reason, a duration, and a confirmation', () => {
    const { state } = pressed(START, 'tab', 'b', 'return');
    expect(shown(state)).toContainEqual(expect.stringMatching(/^A reason is needed/));
    const { state: reasoned } = pressed(state, '"a bot"', 'return');
    expect(shown(reasoned)).toContainEqual(expect.stringMatching(/: 30min $/));
    const wrong = pressed(reasoned, '"x"', 'return').state;
    expect(shown(wrong)).toContainEqual(expect.stringMatching(/is not a duration/));
    const { state: ready } = pressed(
      reasoned,
      ...'30min'.split('').map(() => 'backspace'),
      '"2h"',
      'return',
    );
    expect(shown(ready)).toContainEqual('Block i.first for 2h, "a bot"?');
    expect(pressed(ready, 'y').effect).toMatchObject({
      form: { action: 'block', answers: { reason: 'a bot', for: '2h' } },
    });
    expect(shown(pressed(START, 'tab', 'e').state)).toContainEqual(
      'Exempt i.first from all limits',
    );
  });

  test('mode: the policy of the row, a mode, a reason, a duration, and a confirmation', () => {
    const keys = ['m', 's', '"a bad release"', 'return', 'return'];
    const { state } = pressed(START, 'j', ...keys);
    const question = 'Change the mode of the policy search to shadow for 30min, "a bad release"?';
    expect(shown(state)).toContainEqual(question);
    expect(shown(pressed(START, 'tab', 'j', ...keys).state)).toContainEqual(question);
    expect(pressed(state, 'y').effect).toMatchObject({
      form: { action: 'mode', answers: { mode: 'shadow', for: '30min' } },
    });
  });

  test('lift: of a policy at once, of a client after its override is known', () => {
    expect(pressed(START, 'l').state.form).toMatchObject({ action: 'restore' });
    const { state, effect } = pressed(START, 'tab', 'l');
    expect(effect).toEqual({ kind: 'find override', client: CLIENTS[0] });
    expect(state.form).toBeUndefined();
  });

  test.each(['n', 'return', 'escape', 'down'])('%s does nothing where y is needed', (key) => {
    const { state, effect } = pressed(START, 'tab', 'r', 'return', key);
    expect(effect).toBeUndefined();
    expect(shown(state)).toContainEqual('reset: given up, nothing was changed');
  });

  test('needs a client', () => {
    const { state } = pressed(START, 'r');
    expect(state.form).toBeUndefined();
    expect(shown(state)).toContainEqual(expect.stringMatching(/^choose a client first/));
  });

  test.each(['r', 'b'])('%s of a client that the policy file blocks says so', (key) => {
    const blocked = client('i.blocked', {
      ...{ reason: 'blocked', blocked_by: 'policy_file', listed_at: 'policies.yaml:12' },
      listed: { list: 'block', entry: '192.0.2.0/24', applies: true, what: 'blocks 192.0.2.0/24' },
    });
    const { state } = pressed(stateOf({ clients: [blocked] }), 'tab', key);
    expect(state.form).toBeUndefined();
    expect(shown(state, 120)).toContainEqual(
      expect.stringMatching(/^the policy file blocks i\.blocked \(policies\.yaml:12\): there is/),
    );
    expect(pressed(stateOf({ clients: [blocked] }), 'tab', 'e').state.form).toBeDefined();
  });

  test.each(['l', 'm'])('%s in an empty table is not about a row of the other', (key) => {
    const { state } = pressed(stateOf({ policies: POLICIES }), 'tab', key);
    expect(state.form).toBeUndefined();
    expect(shown(state)).toContainEqual(expect.stringMatching(/^choose a (row|policy) first/));
  });

  test('that is not confirmed yet holds back others, and q', () => {
    const { state } = pressed(START, 'tab', 'r', 'return', 'y');
    expect(pressed(state, 'b').state.form).toBeUndefined();
    const { state: held, effect } = pressed(state, 'q');
    expect(effect).toBeUndefined();
    expect(shown(held)).toContainEqual('reset i.first: no answer yet; Ctrl+C leaves all the same');
    expect(pressed(held, 'ctrl-c').effect).toEqual({ kind: 'quit' });
  });
});
