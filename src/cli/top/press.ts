/** What a key does: the next state, and what to do outside of it. */
import { clientText } from '../../gateway/operations/texts.ts';
import { type ActionName, edited, type Form, pressInForm, startForm } from './form.ts';
import type { DeniedClient } from './gather.ts';
import { chosenClient, chosenPolicy, moved, withNextOrder } from './rows.ts';
import { type Notice, type TopState, withPane } from './state.ts';
import type { Key } from './terminal.ts';

export type Effect =
  | { readonly kind: 'quit' | 'suspend' | 'redraw' | 'refresh' }
  | { readonly kind: 'explain'; readonly client: DeniedClient }
  | { readonly kind: 'find override'; readonly client: DeniedClient }
  | { readonly kind: 'change'; readonly form: Form };

interface Pressed {
  readonly state: TopState;
  readonly effect?: Effect;
}

/** Rows that a page key moves by. */
const PAGE = 10;
const MOVES: Readonly<Record<string, number>> = {
  ...{ up: -1, k: -1, down: 1, j: 1 },
  ...{ pageup: -PAGE, pagedown: PAGE, home: -1e6, end: 1e6 },
};
const ACTIONS_ON_CLIENTS: Readonly<Record<string, ActionName>> = {
  r: 'reset',
  b: 'block',
  e: 'exempt',
};

export function press(state: TopState, key: Key): Pressed {
  if (key.name === 'ctrl-c') return { state, effect: { kind: 'quit' } };
  if (key.name === 'ctrl-z') return { state, effect: { kind: 'suspend' } };
  if (key.name === 'ctrl-l') return { state, effect: { kind: 'redraw' } };
  if (state.form !== undefined) return pressForm(state, state.form, key);
  if (state.isFiltering) return pressFilter(state, key);
  const plain = { ...state, notice: undefined, isHelpShown: false };
  // Any other key only closes the help.
  return state.isHelpShown && key.name !== 'q' ? { state: plain } : pressCommand(plain, key);
}

function pressForm(state: TopState, form: Form, key: Key): Pressed {
  const step = pressInForm(form, key);
  if (step === 'given up') {
    return noticed({ ...state, form: undefined }, `${form.action}: given up, nothing was changed`);
  }
  if (step !== 'done') return { state: { ...state, form: step } };
  const underWay = `${form.action} ${form.subject.name}`;
  return {
    state: { ...state, form: undefined, underWay, notice: undefined },
    effect: { kind: 'change', form },
  };
}

function pressFilter(state: TopState, key: Key): Pressed {
  const { pane, panes } = state;
  if (key.name !== 'return' && key.name !== 'escape') {
    return { state: withPane(state, { filter: edited(panes[pane].filter, key) }) };
  }
  const shown = key.name === 'return' ? state : withPane(state, { filter: '' });
  const done = { ...shown, isFiltering: false };
  // The gateways search for what was typed.
  return pane === 'clients' ? { state: done, effect: { kind: 'refresh' } } : { state: done };
}

function pressCommand(state: TopState, { name }: Key): Pressed {
  const move = MOVES[name];
  if (move !== undefined) return { state: movedBy(state, move) };
  switch (name) {
    case 'q':
      return quit(state);
    case 'escape':
    case 'backspace':
      return goBack(state);
    case 'tab':
    case 'left':
    case 'right':
      return { state: switched(state) };
    case 's':
      return { state: withNextOrder(state) };
    case '/':
      return { state: { ...state, isFiltering: true, why: undefined } };
    case '?':
      return { state: { ...state, isHelpShown: true } };
    case ' ':
      return { state, effect: { kind: 'refresh' } };
    case 'return':
      return state.why === undefined ? why(state) : { state: { ...state, why: undefined } };
    default:
      return pressAction(state, name);
  }
}

function goBack(state: TopState): Pressed {
  if (state.why !== undefined) return { state: { ...state, why: undefined } };
  const isSearched = state.panes[state.pane].filter !== '';
  const shown = withPane(state, { filter: '' });
  return isSearched ? { state: shown, effect: { kind: 'refresh' } } : { state: shown };
}

/** The answer to an action must be seen. */
function quit(state: TopState): Pressed {
  if (state.underWay === undefined) return { state, effect: { kind: 'quit' } };
  return noticed(state, `${state.underWay}: no answer yet; Ctrl+C leaves all the same`, 'bad');
}

/** The row that is chosen then stays chosen, wherever the next update puts it. */
function switched(state: TopState): TopState {
  if (state.why !== undefined) return state;
  return moved({ ...state, pane: state.pane === 'policies' ? 'clients' : 'policies' }, 0);
}

function movedBy(state: TopState, by: number): TopState {
  const { why } = state;
  if (why === undefined) return moved(state, by);
  const last = why.about === 'client' ? why.lines.length : why.policy.limits.length;
  return { ...state, why: { ...why, scroll: Math.max(0, Math.min(why.scroll + by, last)) } };
}

function why(state: TopState): Pressed {
  if (state.pane === 'policies') {
    const policy = chosenPolicy(state);
    if (policy === undefined) return { state };
    return { state: { ...state, why: { about: 'policy', policy, scroll: 0 } } };
  }
  const client = chosenClient(state);
  if (client === undefined) return { state };
  const lines = ['waiting for the gateways ...'];
  return {
    state: { ...state, why: { about: 'client', client, lines, scroll: 0 } },
    effect: { kind: 'explain', client },
  };
}

function pressAction(state: TopState, name: string): Pressed {
  const onClient = ACTIONS_ON_CLIENTS[name];
  if (onClient === undefined && name !== 'm' && name !== 'l') return { state };
  if (state.underWay !== undefined) {
    return noticed(state, `${state.underWay}: no answer yet; wait for it`, 'bad');
  }
  if (name === 'm') return changeMode(state);
  if (name === 'l') return lift(state);
  const client = subjectClient(state);
  if (client === undefined || onClient === undefined) return chooseFirst(state, 'client');
  const subject = { id: client.decision_id, name: clientText(client) };
  if (name !== 'e' && client.listed?.applies === true) {
    const where = client.listed_at === undefined ? '' : ` (${client.listed_at})`;
    const text = `the policy file blocks ${subject.name}${where}: there is nothing to ${onClient}`;
    return noticed(state, text);
  }
  return { state: { ...state, form: startForm(onClient, subject) } };
}

function changeMode(state: TopState): Pressed {
  const name = subjectPolicy(state);
  if (name === undefined) return chooseFirst(state, 'policy');
  return { state: { ...state, form: startForm('mode', { id: name, name }) } };
}

function lift(state: TopState): Pressed {
  const client = subjectClient(state);
  if (client !== undefined) {
    const underWay = `overrides of ${clientText(client)}`;
    return { state: { ...state, underWay }, effect: { kind: 'find override', client } };
  }
  const name = subjectPolicy(state);
  if (name === undefined) return chooseFirst(state, 'row');
  return { state: { ...state, form: startForm('restore', { id: name, name }) } };
}

/** What an action is about: what is explained, otherwise the chosen row of the table that has the keys. */
function subjectClient(state: TopState): DeniedClient | undefined {
  if (state.why !== undefined) return state.why.about === 'client' ? state.why.client : undefined;
  return state.pane === 'clients' ? chosenClient(state) : undefined;
}

function subjectPolicy(state: TopState): string | undefined {
  if (state.why?.about === 'policy') return state.why.policy.name;
  return state.pane === 'clients' ? subjectClient(state)?.policy : chosenPolicy(state)?.name;
}

function chooseFirst(state: TopState, what: string): Pressed {
  return noticed(state, `choose a ${what} first; Tab goes to the other table`);
}

function noticed(state: TopState, text: string, level: Notice['level'] = 'plain'): Pressed {
  return { state: { ...state, notice: { level, text } } };
}
