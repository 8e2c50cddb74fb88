/** Draws the state in a size: exactly as many lines as the terminal has rows, none longer than its width. */
import { clientText } from '../../gateway/operations/texts.ts';
import type { Line, Size } from '../output/output.ts';
import { formLines, typedLine } from './form.ts';
import { helpLines, hints } from './help.ts';
import { chosenIndex, clientRows, orderName, policyRows } from './rows.ts';
import { gatewayTime, type Pane, type TopState } from './state.ts';
import { factsText, statements } from './status.ts';
import { listLines } from './table.ts';
import { clientColumns, policyColumns } from './tables.ts';
import { clockText, cut, cutLine, lineOf, padded, widthOf, wrapped } from './text.ts';
import { policyText } from './why.ts';

/** Terminals with so many rows show both tables, and the facts above them. */
const ROWS_FOR_BOTH = 16;
const MOST_STATEMENT_LINES = 4;

export function screenLines(state: TopState, size: Size): Line[] {
  const { columns, rows } = size;
  const top = header(state, size);
  const bottom = footer(state, size);
  const height = Math.max(0, rows - top.length - bottom.length);
  const middle = body(state, { columns, rows: height }).slice(0, height);
  const filler = new Array<Line>(height - middle.length).fill('');
  return [...top, ...middle, ...filler, ...bottom]
    .slice(0, rows)
    .map((line) => cutLine(line, columns));
}

function header(state: TopState, { columns, rows }: Size): Line[] {
  const clock = `${clockText(gatewayTime(state))} UTC`;
  const { host } = state.snapshot?.overview.gateway ?? { host: undefined };
  const places = [host, state.url].filter((place) => place !== undefined);
  const title = cut(`headgate top ${places.join(', ')}`.trim(), columns);
  const left = columns - widthOf(title) - 1;
  const time = clock.length <= left ? padded(clock, left + 1, 'right') : '';
  const said = statements(state).flatMap(({ text, tone }) =>
    wrapped(text, columns).map((each) => lineOf(each, tone)),
  );
  const facts = state.snapshot === undefined ? '' : factsText(state.snapshot.overview);
  return [
    { spans: [{ text: title, tone: 'head' }, time] },
    ...said.slice(0, rows < ROWS_FOR_BOTH ? 1 : MOST_STATEMENT_LINES),
    ...(rows < ROWS_FOR_BOTH ? [] : [lineOf(facts, 'aside'), '']),
  ];
}

function body(state: TopState, size: Size): Line[] {
  if (state.isHelpShown) return plainLines(helpLines(state.snapshot?.overview.rate_ms), size);
  const { why, snapshot } = state;
  if (why?.about === 'client') {
    return plainLines([clientText(why.client), '', ...why.lines], size, why.scroll);
  }
  if (why?.about === 'policy') {
    const { policies = [], step_ms: stepMs = 0 } = snapshot?.overview ?? {};
    const now = policies.find(({ name }) => name === why.policy.name) ?? why.policy;
    return plainLines(policyText(now, stepMs), size, why.scroll);
  }
  return snapshot === undefined ? [] : tables(state, size);
}

function plainLines(texts: readonly string[], { columns, rows }: Size, scroll = 0): Line[] {
  const lines = texts.flatMap((text) => wrapped(text, columns, '          '));
  const from = Math.min(scroll, Math.max(0, lines.length - rows));
  return lines.slice(from);
}

function tables(state: TopState, size: Size): Line[] {
  const { columns, rows } = size;
  const policies = policyRows(state);
  const clients = clientRows(state);
  const choice = (pane: Pane) => ({
    chosen: chosenIndex(state, pane),
    hasKeys: state.pane === pane,
  });
  const policyLines = (height: number) => {
    const list = { rows: policies, columns: policyColumns(size), empty: 'no policy has this name' };
    return listLines({ ...list, ...choice('policies') }, columns, height);
  };
  const clientLines = (height: number) => {
    const list = { rows: clients, columns: clientColumns(size, gatewayTime(state)) };
    return listLines({ ...list, ...choice('clients'), empty: emptyText(state) }, columns, height);
  };
  if (rows < ROWS_FOR_BOTH / 2) {
    return state.pane === 'policies' ? policyLines(rows) : clientLines(rows);
  }
  const wanted = (found: readonly unknown[]) => Math.max(1, found.length) + 1;
  const forPolicies = Math.min(
    wanted(policies),
    Math.max(Math.floor(rows / 2), rows - 1 - wanted(clients)),
  );
  return [...policyLines(forPolicies), '', ...clientLines(rows - 1 - forPolicies)];
}

function emptyText({ panes, snapshot }: TopState): string {
  const filter = panes.clients.filter.trim();
  if (filter === '') return 'no client was denied in the last five minutes';
  return filter === snapshot?.filter
    ? 'no client that was denied in the last five minutes matches the filter'
    : 'searching ...';
}

function footer(state: TopState, { columns, rows }: Size): Line[] {
  const { form, notice, underWay, isFiltering, panes, pane } = state;
  if (form !== undefined) return ['', ...formLines(form, columns)];
  if (isFiltering) return ['', typedLine(`Only ${pane} with: `, panes[pane].filter, columns)];
  const keys = lineOf(hints(columns), 'aside');
  const waiting = { text: `${underWay} ...`, level: 'plain' } as const;
  const said = notice ?? (underWay === undefined ? undefined : waiting);
  if (said === undefined) return rows < ROWS_FOR_BOTH ? [keys] : [viewLine(state), keys];
  const lines = wrapped(said.text, columns);
  const { level } = said;
  return [...(level === 'plain' ? lines : lines.map((line) => lineOf(line, level))), keys];
}

function viewLine(state: TopState): Line {
  const { pane, panes } = state;
  const { length } = pane === 'policies' ? policyRows(state) : clientRows(state);
  const { filter } = panes[pane];
  const only = filter === '' ? '' : `, only with ${JSON.stringify(filter)}`;
  return lineOf(`${pane} (${length}): ${orderName(state)}${only}`, 'aside');
}
