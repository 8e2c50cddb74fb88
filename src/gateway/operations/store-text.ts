/** Says that the store fails, which policies it does not count, and what happens to their requests meanwhile. */
import type { StoreError } from '../core/counting/store.ts';
import { isoTime } from '../denials/iso-time.ts';
import { policiesWithoutStore } from './gateway-report.ts';
import type { Output } from './operation-table.ts';
import type { Gateway } from './running-gateway.ts';
import type { StatusLine, StoreState } from './schemas/overview.ts';
import { clockText, listText, plural } from './texts.ts';

type Known = Pick<Output<'overview'>, 'store' | 'gateways' | 'time'>;
type State = Output<'overview'>['store']['states'][number];

/** Reasons that leave open whether Redis is there at all. A colon and details may follow. */
const SILENT = [undefined, 'timeout', 'refused', 'connection', 'given_up'];

export function isSilence(reason: string | undefined): boolean {
  return SILENT.includes(reason?.split(':')[0]);
}

/** A line for gateways that have no store, and one for those that it fails now and then. */
export function storeLines(overview: Known): StatusLine[] {
  const failing = overview.store.states.filter(({ state }) => state !== 'enforced');
  const down = failing.filter(({ lapses }) => lapses === undefined);
  const late = failing.filter(({ lapses }) => lapses !== undefined);
  const lines: StatusLine[] = [];
  if (down.length > 0) {
    const text = sentences(downText(down, overview), consequences(down, PRESENT));
    lines.push({ level: 'wrong', text });
  }
  if (late.length > 0) {
    const text = sentences(lateText(late, overview), consequences(late, PAST));
    lines.push({ level: 'warning', text });
  }
  return lines;
}

function sentences(what: string, then: string): string {
  return then === '' ? what : `${what} ${then}.`;
}

function consequences(states: readonly State[], words: Words): string {
  const parts = CONSEQUENCES.flatMap((state) => {
    const names = states.flatMap((each) => (each.state === state ? each.policies : []));
    return names.length === 0 ? [] : words[state]([...new Set(names)]);
  });
  return parts.join('; ').replace(/^(each|those)/, (word) => CAPITAL[word] ?? word);
}

function downText(states: readonly State[], { store, gateways, time }: Known): string {
  const [since] = states.flatMap((each) => each.since ?? []).sort();
  const when = since === undefined ? '' : ` since ${clockText(since, time)}`;
  const reason = states.find((each) => each.reason !== undefined)?.reason;
  if (store.kind === 'memory') {
    const why = reason === undefined ? '' : ` (${reason})`;
    return `Requests have not been counted${when}${why}.`;
  }
  const where = someOf(affected(states), gateways.answered);
  if (isSilence(reason)) return `Redis has not answered${where}${when}.`;
  return `Redis has refused to count${where && ` for${where}`}${when} (${reason}).`;
}

function lateText(states: readonly State[], { gateways }: Known): string {
  const groups = byReason(states);
  const sum = (of: 'failed' | 'checks') =>
    groups.reduce((total, { lapses }) => total + (lapses?.[of] ?? 0), 0);
  const [first] = groups;
  const [reason] = first?.reason?.split(':') ?? [];
  const how = reason === 'timeout' || reason === 'given_up' ? 'was late for' : `failed (${reason})`;
  const where = someOf(affected(states), gateways.answered);
  const seconds = (first?.lapses?.within_ms ?? 0) / 1_000;
  return `Redis ${how} ${sum('failed')} of ${plural(sum('checks'), 'check')} in the last ${seconds} s${where && ` on${where}`}.`;
}

/** ` 1 of 2 gateways`; empty if it is all of them. */
function someOf(count: number, all: number): string {
  return count < all ? ` ${count} of ${plural(all, 'gateway')}` : '';
}

function affected(states: readonly State[]): number {
  return byReason(states).reduce((sum, { gateways }) => sum + gateways, 0);
}

/** A gateway has one reason, and can be in several states: for each reason, the state of the most gateways. */
function byReason(states: readonly State[]): State[] {
  const found = new Map<string | undefined, State>();
  for (const state of states) {
    const known = found.get(state.reason);
    if (known === undefined || known.gateways < state.gateways) found.set(state.reason, state);
  }
  return [...found.values()];
}

const CAPITAL: Readonly<Record<string, string>> = { each: 'Each', those: 'Those' };
const CONSEQUENCES = ['local', 'open', 'closed'] as const;
type Words = Readonly<Record<Exclude<StoreState, 'enforced'>, (names: string[]) => string>>;
const PRESENT: Words = {
  local: (names) => `each gateway counts ${listText(names)} by itself`,
  open: (names) => `${listText(names)} ${names.length === 1 ? 'passes' : 'pass'} uncounted`,
  closed: (names) => `${listText(names)} ${names.length === 1 ? 'is' : 'are'} denied`,
};
const PAST: Words = {
  local: (names) => `each gateway counted those of ${listText(names)} by itself`,
  open: (names) => `those of ${listText(names)} passed uncounted`,
  closed: (names) => `those of ${listText(names)} were denied`,
};

/** `Redis failed (oom)`, `Redis does not answer (timeout)` */
export function storeErrorText({ message, reason }: StoreError): string {
  const remedy =
    reason === 'noperm' ? '; headgate check --redis says which right its account lacks' : '';
  const what = isSilence(reason) ? 'Redis does not answer' : message;
  return `${what} (${reason})${remedy}`;
}

export function unavailableText(error: StoreError, gateway: Gateway): string {
  return isSilence(error.reason) ? silenceText(gateway) : `${storeErrorText(error)}.`;
}

/** Since when the store does not answer this gateway, and how requests are decided meanwhile, if any was. */
export function silenceText(gateway: Gateway): string {
  const { isDegraded, lapses, sinceMs } = gateway.status.store();
  const now = isoTime(gateway.now());
  if (!isDegraded || lapses !== undefined) return 'Redis did not answer in time.';
  const states = [...policiesWithoutStore(gateway)].map(([state, policies]) => ({
    ...{ state, policies, gateways: 1, since: isoTime(sinceMs) },
  }));
  const [line] = storeLines({
    store: { kind: 'redis', states },
    gateways: { asked: 1, answered: 1, workers: 0 },
    time: now,
  });
  return line?.text ?? 'Redis does not answer.';
}
