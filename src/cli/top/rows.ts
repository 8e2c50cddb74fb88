/** The rows of both tables: which pass the filter, in which order, and which one is chosen. */

import { clientText } from '../../gateway/operations/texts.ts';
import type { DeniedClient, Policy } from './gather.ts';
import { type PaneState, type TopState, withPane } from './state.ts';

interface Order<Row> {
  readonly name: string;
  readonly compare: (a: Row, b: Row) => number;
}

export interface PolicyRow {
  readonly policy: Policy;
  readonly requestRate: number;
  /** In shadow mode: of the requests that it would have denied. */
  readonly denialRate: number;
}

const byText = <Row>(text: (row: Row) => string) => {
  return (a: Row, b: Row) => (text(a) < text(b) ? -1 : Number(text(a) > text(b)));
};

const POLICY_ORDERS: readonly Order<PolicyRow>[] = [
  { name: 'as in the file', compare: () => 0 },
  { name: 'most denials first', compare: (a, b) => b.denialRate - a.denialRate },
  { name: 'most requests first', compare: (a, b) => b.requestRate - a.requestRate },
  { name: 'by name', compare: byText(({ policy }) => policy.name) },
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

export function policyRows({ snapshot, panes }: TopState): PolicyRow[] {
  const { policies = [] } = snapshot?.overview ?? {};
  const { order, filter } = panes.policies;
  return policies
    .filter(({ name }) => includes(name, filter))
    .map((policy) => ({
      policy,
      requestRate: policy.rates.requests,
      denialRate: denialRateOf(policy),
    }))
    .sort(POLICY_ORDERS[order]?.compare);
}

export function clientRows({ snapshot, panes }: TopState): DeniedClient[] {
  const { order } = panes.clients;
  const filter = panes.clients.filter.trim();
  return (snapshot?.denied.clients ?? [])
    .filter(
      (each) =>
        // The gateways have searched already, and know more than a row shows.
        filter === snapshot?.filter ||
        [clientText(each), each.client, each.policy, each.reason, each.decision_id].some((text) =>
          includes(text, filter),
        ),
    )
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

/** The chosen policy, whichever table has the keys. */
export function chosenPolicy(state: TopState): Policy | undefined {
  const rows = policyRows(state);
  return rows[chosenIndex(policyNames(rows), state.panes.policies)]?.policy;
}

export function chosenClient(state: TopState): DeniedClient | undefined {
  const rows = clientRows(state);
  return rows[chosenIndex(clientKeys(rows), state.panes.clients)];
}

/** Where the chosen row is now. If it is gone: what took its place. */
export function chosenIndex(names: readonly string[], { chosen }: PaneState): number {
  const index = chosen.name === undefined ? -1 : names.indexOf(chosen.name);
  return index >= 0 ? index : Math.max(0, Math.min(chosen.index, names.length - 1));
}

/** Chooses the row that is so many rows further. */
export function moved(state: TopState, by: number): TopState {
  const names =
    state.pane === 'policies' ? policyNames(policyRows(state)) : clientKeys(clientRows(state));
  const from = chosenIndex(names, state.panes[state.pane]);
  const index = Math.max(0, Math.min(from + by, names.length - 1));
  return withPane(state, { chosen: { name: names[index], index } });
}

export function policyNames(rows: readonly PolicyRow[]): string[] {
  return rows.map(({ policy }) => policy.name);
}

/** A client is listed once for each policy and reason. */
export function clientKeys(rows: readonly DeniedClient[]): string[] {
  return rows.map(({ client, policy, reason }) => `${client} ${policy} ${reason}`);
}

function includes(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase());
}
