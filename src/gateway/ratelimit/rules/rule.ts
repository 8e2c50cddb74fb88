/** The words are those of the files (README.md of github.com/envoyproxy/ratelimit). */
import type { Diagnostic, DiagnosticDraft } from '../../config/diagnostic.ts';
import { type Algorithm, MAX_LIMIT, MAX_WINDOW_MS } from '../../core/counting/store.ts';
import { DAY_MS } from '../../core/identity/salts.ts';
import type { PolicyMode, StoreFailureMode } from '../../core/policy.ts';

export const UNITS = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year'] as const;
export type Unit = (typeof UNITS)[number];

export interface Rate {
  /** 0 to 2^32 - 1. A limit of 0 denies every hit. */
  readonly requestsPerUnit: number;
  readonly unit: Unit;
  /** Units of a window, if a call names more than one. */
  readonly unitMultiplier?: number;
}

export interface Rule {
  readonly domain: string;
  /** The domain, then each `key_value` of the file: `mongo_cps.database_users.default`. Unique, and never what clients send. */
  readonly name: string;
  /** `rate_limit.name`, which `replaces` of other limits refers to. */
  readonly limitName: string | undefined;
  /** Undefined: unlimited. */
  readonly rate: Rate | undefined;
  /** Names of limits that do not count in a request that this limit matches. */
  readonly replaces: readonly string[];
  readonly isShadow: boolean;
  /** A request is over such limits only if it is over all of them. */
  readonly isQuota: boolean;
  /** What the answers to calls that it admits say in their dynamic metadata. */
  readonly metadata: Readonly<Record<string, unknown>> | undefined;
  readonly own: OwnTerms;
}

/** What the key `headgate` beside `rate_limit` says. Undefined: the default of the gateway. */
export interface OwnTerms {
  readonly algorithm?: Algorithm | undefined;
  readonly burst?: number | undefined;
  readonly mode?: PolicyMode | undefined;
  readonly onStoreFailure?: StoreFailureMode | undefined;
}

export interface Entry {
  readonly key: string;
  readonly value: string;
}

export interface MatchedRule {
  readonly rule: Rule;
  /** What is counted: the keys and values of the entries; where a rule shares its threshold, the pattern for the value. */
  readonly counted: readonly Entry[];
  /** The name in metrics: that of the rule, or with values where `value_to_metric` or `detailed_metric` asks for it. */
  readonly metric: string;
}

/** A configuration before it is compiled: the value of a YAML file, or the same shape from a control plane. */
export interface RuleFile {
  readonly name: string;
  readonly value: unknown;
  /** What made the text unusable, if anything did: then there is no value. */
  readonly mistakes?: readonly Diagnostic[];
  /** What is already known about the text, beside what the value says. */
  readonly remarks?: readonly DiagnosticDraft[];
  /** Looks up lines and columns. Without it, diagnostics name the path alone. */
  readonly place?: (drafts: readonly DiagnosticDraft[]) => readonly Diagnostic[];
}

/** How long the units last. A month has 30 days and a year 365, as in envoyproxy/ratelimit (src/utils/utilities.go). */
export const UNIT_MS: Readonly<Record<Unit, number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 30 * DAY_MS,
  year: 365 * DAY_MS,
};

export function windowMsOf({ unit, unitMultiplier = 1 }: Rate): number {
  return UNIT_MS[unit] * unitMultiplier;
}

export function unitOf(text: string): Unit | undefined {
  const wanted = text.toUpperCase();
  return UNITS.find((unit) => unit.toUpperCase() === wanted);
}

/** Sliding windows and buckets are bounded, see core/store.ts. */
export function needsFixedWindow(rate: Rate): boolean {
  return rate.requestsPerUnit > MAX_LIMIT || windowMsOf(rate) > MAX_WINDOW_MS;
}
