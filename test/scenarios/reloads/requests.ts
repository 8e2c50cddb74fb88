/** The requests of the load, and what their answers say about the files that decided them. */
import { headerOf, type LoadRequest, type Outcome } from '../../../tools/load/open-loop.ts';
import { BLOCKED, CDN, KEPT_LIMIT, MEMBER_KEY, NUMBERS, PLAN_LIMIT, PLANS } from './files.ts';

export interface Decided {
  readonly kind: Kind;
  readonly client: string;
  readonly dueMs: number;
  readonly answeredMs: number;
  /** 0: no answer. */
  readonly status: number;
  readonly error: string | undefined;
  /** The versions of the policy file that decided. There should be one. */
  readonly policies: readonly number[];
  /** The version of the key file, if the answer shows it. */
  readonly keys: number | undefined;
  readonly remaining: number;
  /** Whether Redis counted the request. */
  readonly isEnforced: boolean;
}

const KINDS = ['plain', 'member', 'pair', 'kept', 'raised', 'refused', 'cdn', 'ipv6'] as const;
export type Kind = (typeof KINDS)[number];
/** Five clients at a time, each of which sends twice its limit. */
const KEPT_AT_ONCE = 5;
const KEPT_REQUESTS = 2 * KEPT_LIMIT;
const RAISED_CLIENTS = 3;
/** So many that no address reaches a limit. */
const ADDRESSES = 5_000;

const PATHS: Partial<Record<Kind, string>> = {
  pair: '/envoy/pair',
  kept: '/envoy/kept',
  raised: '/envoy/raised',
  refused: '/envoy/refused',
};

const ADDRESS_OF: Readonly<Record<Kind, (turn: number) => string>> = {
  plain: (turn) => `10.0.${(turn % ADDRESSES) >> 8}.${turn & 255}`,
  ipv6: (turn) => `2001:db8:0:${(turn % ADDRESSES).toString(16)}::1`,
  pair: (turn) => `10.1.${(turn % ADDRESSES) >> 8}.${turn & 255}`,
  member: () => '10.2.0.1',
  kept: (turn) => {
    const block = Math.floor(turn / KEPT_AT_ONCE / KEPT_REQUESTS);
    return `10.3.${block}.${turn % KEPT_AT_ONCE}`;
  },
  raised: (turn) => `10.4.0.${turn % RAISED_CLIENTS}`,
  refused: () => '10.5.0.1',
  cdn: () => CDN,
};

function kindOf(i: number): Kind {
  return KINDS[i % KINDS.length] as Kind;
}

function addressOf(i: number): string {
  return ADDRESS_OF[kindOf(i)](Math.floor(i / KINDS.length));
}

export function requestOf(i: number): LoadRequest {
  const kind = kindOf(i);
  const address = addressOf(i);
  return {
    path: PATHS[kind] ?? '/envoy/',
    headers: {
      'x-headgate-peer-ip': address,
      'x-headgate-client-ip': address,
      ...(kind === 'member' && { 'x-api-key': MEMBER_KEY }),
      ...(kind === 'cdn' && { 'cf-connecting-ip': BLOCKED }),
    },
  };
}

export function read(outcome: Outcome): Decided {
  const { i, dueMs, tookMs, status, error } = outcome;
  const kind = kindOf(i);
  return {
    kind,
    client: addressOf(i),
    dueMs,
    answeredMs: dueMs + tookMs,
    status,
    error,
    ...numbersIn(outcome, kind),
    remaining: Number(headerOf(outcome, 'x-ratelimit-remaining')),
    isEnforced: headerOf(outcome, 'x-ratelimit-mode') === undefined,
  };
}

const ITEM = /"([^"]+)";q=(\d+)/g;
const UNNUMBERED_LIMITS = [KEPT_LIMIT, 1];

/** Collects the numbers of all places of an answer that show what decided it. */
function numbersIn(outcome: Outcome, kind: Kind): Pick<Decided, 'policies' | 'keys'> {
  const items = [...(headerOf(outcome, 'ratelimit-policy') ?? '').matchAll(ITEM)];
  const limits = items.map(([, , quota]) => Number(quota));
  const shown = headerOf(outcome, 'x-ratelimit-limit');
  if (shown !== undefined) limits.push(Number(shown));
  const names = [
    ...items.map(([, label = '']) => label),
    headerOf(outcome, 'ratelimit') ?? '',
    headerOf(outcome, 'x-ratelimit-policy') ?? '',
  ];
  const numbered = limits.filter((limit) => !UNNUMBERED_LIMITS.includes(limit));
  const policies = new Set(numbered.map((limit) => limit % NUMBERS));
  for (const name of names) {
    const [, number] = /-(\d+)/.exec(name) ?? [];
    if (number !== undefined) policies.add(Number(number));
  }
  const planned = limits.find(
    (limit) => limit >= PLAN_LIMIT && limit < PLAN_LIMIT + PLANS * NUMBERS,
  );
  const keys =
    kind === 'member' && planned !== undefined
      ? Math.floor((planned - PLAN_LIMIT) / NUMBERS)
      : undefined;
  return { policies: [...policies], keys };
}
