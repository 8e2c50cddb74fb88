/** The rows of both tables: which pass the filter, in which order, and which one is chosen. */
import { clientText } from '../../gateway/operations/texts.ts';
import type { DeniedClient, Policy } from './gather.ts';
import { type Pane, type TopState, withPane } from './state.ts';

interface Order<Row> {
  readonly name: string;
  readonly compare: (a: Row, b: Row) => number;
}

const byText = <Row>(text: (row: Row) => string) => {
  return (a: Row, b: Row) => (text(a) < text(b) ? -1 : Number(text(a) > text(b)));
};

const POLICY_ORDERS: readonly Order<Policy>[] = [
  { name: 'as in the file', compare: () => 0 },
  { name: 'most denials first', compare: (a, b) => denialRateOf(b) - denialRateOf(a) },
  { name: 'most requests first', compare: (a, b) => b.rates.requests - a.rates.requests },
  { name: 'by name', compare: byText(({ name }) => name) },
];

const CLIENT_ORDERS: readonly Order<DeniedClient>[] = [
  { name: 'most denials first', compare: (a, b) => b.denials - a.denials },
  { name: 'last denied first', compare: (a, b) => Date.parse(b.last) - Date.parse(a.last) },
  { name: 'longest denied first', compare: (a, b) => Date.parse(a.since) - Date.parse(b.since) },
  { name: 'by policy', compare: byText(({ policy }) => policy) },
  { name: 'by client', compare: byText(clientText) },
];

/** The series of what a policy denies or, in shadow mode, would deny. */
export function denialsOf({ mode, denials, would_deny: wouldDeny }: Policy): readonly number[] {
  return mode === 'shadow' ? wouldDeny : denials;
}

/** Per second. */
export function denialRateOf({ mode, rates }: Policy): number {
  return mode === 'shadow' ? rates.would_deny : rates.denials;
}

export function policyRows({ snapshot, panes }: TopState): Policy[] {
  const { order, filter } = panes.policies;
  return (snapshot?.overview.policies ?? [])
    .filter(({ name }) => includes(name, filter))
    .sort(POLICY_ORDERS[order]?.compare);
}

export function clientRows({ snapshot, panes }: TopState): DeniedClient[] {
  const { order } = panes.clients;
  const filter = panes.clients.filter.trim();
  return (snapshot?.denied.clients ?? [])
    .filter((each) => {
      // The gateways have searched already, and know more than a row shows.
      if (filter === snapshot?.filter) return true;
      const { client, policy, reason, decision_id: id } = each;
      return [clientText(each), client, policy, reason, id].some((text) => includes(text, filter));
    })
    .sort(CLIENT_ORDERS[order]?.compare);
}

export function orderName({ pane, panes }: TopState): string {
  const orders = pane === 'policies' ? POLICY_ORDERS : CLIENT_ORDERS;
  return orders[panes[pane].order]?.name ?? '';
}

export function withNextOrder(state: TopState): TopState {
  const { pane, panes } = state;
  const { length } = pane === 'policies' ? POLICY_ORDERS : CLIENT_ORDERS;
  return withPane(state, { order: (panes[pane].order + 1) % length });
}

export function chosenPolicy(state: TopState): Policy | undefined {
  return policyRows(state)[chosenIndex(state, 'policies')];
}

export function chosenClient(state: TopState): DeniedClient | undefined {
  return clientRows(state)[chosenIndex(state, 'clients')];
}

/** Where the chosen row is now. If it is gone: what took its place. */
export function chosenIndex(state: TopState, pane: Pane): number {
  const names = rowNames(state, pane);
  const { chosen } = state.panes[pane];
  const index = chosen.name === undefined ? -1 : names.indexOf(chosen.name);
  return index >= 0 ? index : Math.max(0, Math.min(chosen.index, names.length - 1));
}

export function moved(state: TopState, by: number): TopState {
  const names = rowNames(state, state.pane);
  const from = chosenIndex(state, state.pane);
  const index = Math.max(0, Math.min(from + by, names.length - 1));
  return withPane(state, { chosen: { name: names[index], index } });
}

/** A client is listed once for each policy and reason. */
function rowNames(state: TopState, pane: Pane): string[] {
  if (pane === 'policies') return policyRows(state).map(({ name }) => name);
  return clientRows(state).map(({ client, policy, reason }) => `${client} ${policy} ${reason}`);
}

function includes(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase());
}
