/** An override: a temporary decision of an operator. It takes precedence over the policy file, and ends by itself. */
import { z } from 'zod';
import { LOG_LEVELS } from '../../config/settings/settings.ts';
import { POLICY_MODES } from '../../core/policy.ts';
import { WITHOUT_CONTROLS } from '../../core/printable.ts';
import type { StoredOverride } from './override-store.ts';

/** Milliseconds since the epoch. Reports write years with four digits. */
const moment = z
  .int()
  .min(0)
  .max(Date.UTC(9999, 11, 31));

/** Operators see it in a terminal, so it has no control characters. */
const printable = (longest: number) => z.string().max(longest).regex(WITHOUT_CONTROLS);
const LONGEST_NAME = 256;

const terms = {
  sinceMs: moment,
  untilMs: moment,
  reason: printable(200),
  by: printable(64),
};

const overrideSchema = z.discriminatedUnion('about', [
  z.object({
    about: z.literal('client'),
    client: printable(LONGEST_NAME),
    /** Whether the partition is an address under the salt that changes every 31 days. */
    isLong: z.boolean(),
    access: z.enum(['exempt', 'blocked']),
    ...terms,
  }),
  z.object({
    about: z.literal('policy'),
    policy: printable(LONGEST_NAME),
    mode: z.enum(POLICY_MODES),
    ...terms,
  }),
  z.object({ about: z.literal('log_level'), level: z.enum(LOG_LEVELS), ...terms }),
  z.object({
    about: z.literal('log_allows'),
    oneIn: z.int().positive(),
    ...terms,
  }),
]);

export type Override = z.output<typeof overrideSchema>;
export type Terms = Pick<Override, 'sinceMs' | 'untilMs' | 'reason' | 'by'>;

export interface EndedOverride {
  readonly override: Override;
  /** Milliseconds since the epoch. */
  readonly endedMs: number;
  /** The operator who removed it; undefined if it expired. */
  readonly endedBy: string | undefined;
}

export const clientSubject = (partition: string) => `client:${partition}`;
export const policySubject = (policy: string) => `policy:${policy}`;
export const LOG_SUBJECTS = ['log_level', 'log_allows'] as const;

/** A new override replaces the one with the same subject. */
export function subjectOf(override: Override): string {
  if (override.about === 'client') return clientSubject(override.client);
  return override.about === 'policy' ? policySubject(override.policy) : override.about;
}

export function toStored(override: Override): StoredOverride {
  return { about: subjectOf(override), untilMs: override.untilMs, text: JSON.stringify(override) };
}

/** Returns undefined if the override was removed, or if this version cannot read it. */
export function fromStored({ text, untilMs }: StoredOverride): Override | undefined {
  try {
    return overrideSchema.safeParse({ ...JSON.parse(text), untilMs }).data;
  } catch {
    return undefined;
  }
}

const removalSchema = z.object({
  /** Milliseconds since the epoch. */
  atMs: moment,
  by: terms.by,
});

type Removal = z.output<typeof removalSchema>;

/** The note that the override store keeps in place of a removed override. */
export function removalNote(removal: Removal): string {
  return `-${JSON.stringify(removal)}`;
}

/** Returns undefined if the override is in force, or if it left no note that this version can read. */
export function removalIn({ text }: Pick<StoredOverride, 'text'>): Removal | undefined {
  if (!text.startsWith('-')) return undefined;
  try {
    return removalSchema.safeParse(JSON.parse(text.slice(1))).data;
  } catch {
    return undefined;
  }
}

export function overrideEffects(overrides: readonly Override[]): string[] {
  return overrides.map((override) => {
    if (override.about === 'client') return override.access;
    return override.about === 'policy' ? override.mode : override.about;
  });
}

export function loggingIn(overrides: readonly Override[]) {
  const level = overrides.find((override) => override.about === 'log_level');
  const allows = overrides.find((override) => override.about === 'log_allows');
  return { level: level?.level, allowsOneIn: allows?.oneIn };
}
