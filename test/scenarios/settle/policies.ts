/** The limits of the scenario in each version of its policy file, and what an outcome costs by their keys. */
import { hash } from 'node:crypto';

export type Kind = 'log' | 'counter' | 'bucket' | 'fixed';

export interface LimitSpec {
  readonly policy: 'tokens' | 'long' | 'login' | 'metered' | 'watched';
  readonly per: 'api_key' | 'client' | 'global';
  readonly kind: Kind;
  readonly seconds: number;
  readonly limit: number;
  readonly unit?: 'tokens' | 'pages';
  readonly reserve?: number | 'x-reserve';
  readonly unknown?: number;
  readonly refund?: { readonly status: number } | { readonly header: string };
}

export interface Outcome {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly units?: Readonly<Record<string, number>>;
}

export const LOGGED_IN = { 'x-login': 'ok' };
/** Limits of an address over all unlisted keys are multiplied by it. */
const UNVERIFIED_FACTOR = 2;
const UNVERIFIED_FORM = 128;

const ALGORITHMS: Readonly<Record<Kind, string>> = {
  log: 'sliding-window-log',
  counter: 'sliding-window-counter',
  bucket: 'token-bucket',
  fixed: 'fixed-window',
};

const tokens = { policy: 'tokens', per: 'api_key', unit: 'tokens', unknown: 80 } as const;
const long = { policy: 'long', per: 'client', seconds: 3_600 } as const;
const metered = { policy: 'metered', unit: 'tokens' } as const;

const BASE: readonly LimitSpec[] = [
  { ...tokens, kind: 'counter', seconds: 1, limit: 1_200, reserve: 50 },
  { ...tokens, kind: 'fixed', seconds: 4, limit: 4_000, reserve: 50 },
  { ...tokens, kind: 'bucket', seconds: 5, limit: 5_000, reserve: 30 },
  { ...long, kind: 'fixed', limit: 10_000_000, unit: 'tokens', reserve: 50, unknown: 80 },
  { ...long, kind: 'counter', limit: 400_000, unit: 'pages', reserve: 2, unknown: 9 },
  { ...long, kind: 'bucket', limit: 400_000, unit: 'tokens', reserve: 40, unknown: 60 },
  { ...long, kind: 'log', limit: 5_000, refund: { header: 'x-login' } },
  {
    policy: 'login',
    per: 'client',
    kind: 'log',
    seconds: 3,
    limit: 30,
    refund: { header: 'x-login' },
  },
  {
    policy: 'login',
    per: 'client',
    kind: 'counter',
    seconds: 5,
    limit: 60,
    refund: { status: 204 },
  },
  {
    ...metered,
    per: 'client',
    kind: 'fixed',
    seconds: 6,
    limit: 900,
    reserve: 'x-reserve',
    unknown: 40,
  },
  { ...metered, per: 'global', kind: 'counter', seconds: 7, limit: 9_000, reserve: 5, unknown: 9 },
  {
    policy: 'watched',
    per: 'client',
    kind: 'fixed',
    seconds: 8,
    limit: 900,
    unit: 'tokens',
    reserve: 20,
    unknown: 25,
  },
];

/** What the store keys of these limits end with. */
export const isCharged = (key: string): boolean => CHARGED.has(key.slice(key.indexOf('}') + 1));

/** Numbers change; then limits are gone; then all is as before. */
export const VERSIONS: readonly (readonly LimitSpec[])[] = [
  BASE,
  BASE.map((each) => ({
    ...each,
    ...(each.kind !== 'bucket' && each.kind !== 'log' && { limit: Math.ceil(each.limit * 0.9) }),
    ...(each.unknown !== undefined && { unknown: each.unknown + 15 }),
  })),
  BASE.filter(
    ({ policy, kind, per }) => !(policy === 'login' && kind === 'log') && per !== 'global',
  ),
  BASE,
];

/** Each file has as many other policies as files were written before, so that a gateway's log tells which one it has. */
export function policyFile(version: number, keys: readonly object[], others: number): string {
  const specs = VERSIONS[version % VERSIONS.length] ?? BASE;
  const names = [...new Set(specs.map(({ policy }) => policy))];
  const policies = names.map((name) => ({
    name,
    ...(name === 'watched' ? { always: true, mode: 'shadow' } : { match: { path: `/${name}` } }),
    limits: [
      ...specs.filter(({ policy }) => policy === name).map(limitOf),
      // Refunded requests are free.
      ...(name === 'login' ? ['100000/1h'] : []),
    ],
    on_store_failure: 'deny',
  }));
  const other = (_: unknown, i: number) => ({
    name: `other-${i}`,
    match: { path: `/other/${i}` },
    limits: ['1/1h'],
  });
  return JSON.stringify({
    version: 1,
    identity: {
      api_key: { keys, unverified_factor: UNVERIFIED_FACTOR },
      verified_headers: ['x-reserve'],
      trusted_proxies: ['loopback'],
    },
    default: { limits: ['1000000/1h'], on_store_failure: 'deny' },
    policies: [
      ...(version % 2 === 0 ? policies : policies.toReversed()),
      ...Array.from({ length: others }, other),
    ],
  });
}

export const policiesIn = (version: number, others: number): number =>
  new Set((VERSIONS[version % VERSIONS.length] ?? BASE).map(({ policy }) => policy)).size + others;

function limitOf({ kind, per, seconds, limit, unit, reserve, unknown, refund }: LimitSpec) {
  return {
    rate: `${limit}/${seconds}s`,
    per,
    algorithm: ALGORITHMS[kind],
    ...(unit !== undefined && { unit }),
    ...(reserve !== undefined && {
      reserve: typeof reserve === 'number' ? reserve : { header: reserve },
    }),
    ...(unknown !== undefined && { unknown }),
    ...(refund !== undefined && {
      refund: 'status' in refund ? { status: [refund.status] } : { header: LOGGED_IN },
    }),
  };
}

/** What a store key has behind the partition. */
export function suffixOf({ policy, per, seconds, kind, unit }: LimitSpec): string {
  const window = kind === 'log' ? `${seconds * 1_000}` : `${seconds * 1_000}.${kind}`;
  return `:${policy}:${per}.${window}${unit === undefined ? '' : `.${unit}`}`;
}

const CHARGED = new Set(BASE.map(suffixOf));
const byDigest = VERSIONS.map(
  (specs) =>
    new Map(
      specs.map((spec) => {
        const named = JSON.stringify([spec.policy, null, `}${suffixOf(spec)}`]);
        return [hash('sha256', named).slice(0, 12), spec];
      }),
    ),
);

/** Undefined if that version of the file has no such limit. */
export function specOf(version: number, digest: string): LimitSpec | undefined {
  return byDigest[version % VERSIONS.length]?.get(digest);
}

export function numberOf({ limit }: LimitSpec, form: number): number {
  return form >= UNVERIFIED_FORM ? limit * UNVERIFIED_FACTOR : limit;
}

/** What the request cost, in units. */
export function costOf(
  { unit, unknown = 0, refund }: LimitSpec,
  outcome: Outcome,
  reserved: number,
) {
  if (refund !== undefined) {
    const isRefunded =
      'status' in refund
        ? outcome.status === refund.status
        : outcome.headers?.[refund.header] === LOGGED_IN['x-login'];
    if (isRefunded) return 0;
  }
  if (unit === undefined) return reserved;
  return outcome.units?.[unit] ?? Math.max(unknown, reserved);
}
