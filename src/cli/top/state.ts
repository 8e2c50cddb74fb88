/** All that the screen shows, as values: what gateways said, what the operator chose, and what he is typing. */
import type { Form } from './form.ts';
import type { DeniedClient, Policy, Snapshot } from './gather.ts';

export type Pane = 'policies' | 'clients';

export interface PaneState {
  readonly order: number;
  readonly filter: string;
  /** `index` is where the row was when it was last seen. */
  readonly chosen: { readonly name: string | undefined; readonly index: number };
}

type Why = { readonly scroll: number } & (
  | { readonly about: 'client'; readonly client: DeniedClient; readonly lines: readonly string[] }
  | { readonly about: 'policy'; readonly policy: Policy }
);

export interface Notice {
  readonly text: string;
  readonly level: 'good' | 'bad' | 'plain';
}

export interface TopState {
  readonly url: string | undefined;
  readonly snapshot: Snapshot | undefined;
  /** When the snapshot came, on the clock of this machine; milliseconds since the epoch. */
  readonly receivedMs: number;
  /** On the same clock. */
  readonly nowMs: number;
  readonly failure: string | undefined;
  readonly pane: Pane;
  readonly panes: Readonly<Record<Pane, PaneState>>;
  readonly why: Why | undefined;
  readonly form: Form | undefined;
  readonly isFiltering: boolean;
  readonly isHelpShown: boolean;
  /** The change that the gateway is making. */
  readonly underWay: string | undefined;
  readonly notice: Notice | undefined;
}

const FRESH_PANE: PaneState = { order: 0, filter: '', chosen: { name: undefined, index: 0 } };

export function initialState(url: string | undefined, nowMs: number): TopState {
  return {
    ...{ url, nowMs, receivedMs: nowMs, pane: 'policies' },
    panes: { policies: FRESH_PANE, clients: FRESH_PANE },
    ...{ snapshot: undefined, failure: undefined, why: undefined, form: undefined },
    ...{ isFiltering: false, isHelpShown: false, underWay: undefined, notice: undefined },
  };
}

export function received(state: TopState, snapshot: Snapshot, nowMs: number): TopState {
  return { ...state, snapshot, nowMs, receivedMs: nowMs, failure: undefined };
}

/** The last data stay. */
export function failed(state: TopState, failure: string, nowMs: number): TopState {
  return { ...state, failure, nowMs };
}

/** The time of the gateway, in milliseconds since the epoch; its clock may differ from the one here. */
export function gatewayTime({ snapshot, receivedMs, nowMs }: TopState): number {
  if (snapshot === undefined) return nowMs;
  return Date.parse(snapshot.overview.time) + ageOf({ receivedMs, nowMs });
}

/** In milliseconds. */
export function ageOf({ receivedMs, nowMs }: Pick<TopState, 'receivedMs' | 'nowMs'>): number {
  return Math.max(0, nowMs - receivedMs);
}

export function withPane(state: TopState, change: Partial<PaneState>): TopState {
  const { pane, panes } = state;
  return { ...state, panes: { ...panes, [pane]: { ...panes[pane], ...change } } };
}
