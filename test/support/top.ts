/** What `headgate top` knows and shows, for the tests of its parts. */
import type { DeniedClient, Policy, Snapshot } from '../../src/cli/top/gather.ts';
import { type Effect, press } from '../../src/cli/top/press.ts';
import { screenLines } from '../../src/cli/top/screen.ts';
import { initialState, received, type TopState } from '../../src/cli/top/state.ts';
import { type Key, keysOf } from '../../src/cli/top/terminal.ts';
import { textOf } from '../../src/cli/top/text.ts';
import { statusOf } from '../../src/gateway/operations/overview-status.ts';

const NOW = '2026-11-22T11:30:00.000Z';
export const NOW_MS = Date.parse(NOW);
const STEP_MS = 5_000;
const STEPS = 180;
const RATE_MS = 2 * STEP_MS;

type Rates = Policy['rates'];
type Series = Pick<Policy, keyof Rates>;

/** Per second, in the last two steps. */
function ratesOf({ requests, denials, would_deny }: Series): Rates {
  const rate = (counts: readonly number[]) =>
    (counts.slice(-2).reduce((sum, count) => sum + count, 0) * 1_000) / RATE_MS;
  return { requests: rate(requests), denials: rate(denials), would_deny: rate(would_deny) };
}

function sumOfRates(all: readonly Rates[]): Rates {
  const sum = (of: keyof Rates) => all.reduce((total, rates) => total + rates[of], 0);
  return { requests: sum('requests'), denials: sum('denials'), would_deny: sum('would_deny') };
}

/** A series that ends in these counts. */
export function seriesEnding(...last: number[]): number[] {
  return [...new Array<number>(STEPS - last.length).fill(0), ...last];
}

export function policy(name: string, parts: Partial<Policy> = {}): Policy {
  const series = {
    requests: seriesEnding(),
    denials: seriesEnding(),
    would_deny: seriesEnding(),
    ...parts,
  };
  return {
    ...{ name, mode: 'enforce', mode_of_file: 'enforce', on_store_failure: 'allow' },
    limits: ['5 requests per 5 minutes, per client'],
    ...series,
    rates: ratesOf(series),
  };
}

export function client(name: string, parts: Partial<DeniedClient> = {}): DeniedClient {
  return {
    ...{ client: name, decision_id: `id-of-${name}`, policy: 'login', reason: 'over_limit' },
    ...{ mode: 'enforced', identity: 'ip', denials: 1, since: NOW, last: NOW },
    ...parts,
  };
}

export interface Known {
  readonly policies?: readonly Policy[];
  readonly clients?: readonly DeniedClient[];
  readonly overview?: Partial<Snapshot['overview']>;
}

export function snapshot({ policies = [], clients = [], overview = {} }: Known): Snapshot {
  const none = { requests: [], denials: [], would_deny: [] };
  const known = {
    ...{ time: NOW, step_ms: STEP_MS, until: NOW, rate_ms: RATE_MS, actions: [] },
    policies: [...policies],
    rates: sumOfRates(policies.map(({ rates }) => rates)),
    gateway: { host: 'gateway-1', version: '1.0.0' },
    gateways: { asked: 1, answered: 1, workers: 0 },
    without_policy: { rates: ratesOf(none), ...none },
    store: {
      kind: 'redis' as const,
      version: '7.0.15',
      states: [{ state: 'enforced' as const, gateways: 1, policies: [] }],
    },
    policy_file: { digests: [{ digest: 'fe00ff077433', gateways: 1, since: NOW }] },
    ...overview,
  };
  return {
    overview: { ...known, status: statusOf(known) },
    denied: { clients: [...clients], gateways: { asked: 1, answered: 1 } },
    filter: '',
  };
}

export function stateOf(known: Known): TopState {
  return received(initialState(undefined, NOW_MS), snapshot(known), NOW_MS);
}

/** Presses keys one after the other: names of keys, or texts to type in quotes. */
export function pressed(
  start: TopState,
  ...keys: string[]
): { state: TopState; effect: Effect | undefined } {
  let state = start;
  let effect: Effect | undefined;
  for (const key of keys.flatMap(keyNames).flatMap(keysNamed)) {
    ({ state, effect } = { effect: undefined, ...press(state, key) });
  }
  return { state, effect };
}

function keysNamed(name: string): Key[] {
  return [...name].length === 1 ? keysOf(name, {}) : keysOf(undefined, { name });
}

function keyNames(text: string): string[] {
  return text.startsWith('"') ? [...text.slice(1, -1)] : [text];
}

/** The lines without their styles. */
export function shown(state: TopState, columns = 80, rows = 24): string[] {
  return screenLines(state, { columns, rows }).map(textOf);
}
