/** What an operator decides for a time: it goes before the policy file, and ends by itself. */
import { z } from 'zod';
import { LOG_LEVELS } from '../config/settings/settings.ts';
import { POLICY_MODES } from '../core/policy.ts';
import type { StoredOverride } from '../stores/override-store.ts';

/** Of dates (ECMA-262, section 21.4.1.1), milliseconds since the epoch. */
const moment = z.int().min(0).max(8_640_000_000_000_000);

/** It is shown in terminals. */
const printable = (longest: number) =>
  z
    .string()
    .max(longest)
    .regex(/^\P{Cc}*$/u);
const LONGEST_NAME = 256;

const terms = {
  sinceMs: moment,
  untilMs: moment,
  reason: printable(200),
  /** Who made it, as they say. */
  by: printable(64),
};

const overrideSchema = z.discriminatedUnion('about', [
  z.object({
    about: z.literal('client'),
    /** Its partition. */
    client: printable(LONGEST_NAME),
    /** Whether that is an address under the salt that changes every 31 days. */
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
    /** One in so many allowed requests gets a line. */
    oneIn: z.int().positive(),
    ...terms,
  }),
]);

export type Override = z.output<typeof overrideSchema>;
export type Terms = Pick<Override, 'sinceMs' | 'untilMs' | 'reason' | 'by'>;

export const aboutClient = (partition: string) => `client:${partition}`;
export const aboutPolicy = (policy: string) => `policy:${policy}`;
/** Of these there is one each. */
export const ABOUT_LOG = ['log_level', 'log_allows'] as const;

export function toStored(override: Override): StoredOverride {
  return { about: subjectOf(override), untilMs: override.untilMs, text: JSON.stringify(override) };
}

/** Undefined for what was taken down, and what this version cannot read. */
export function fromStored({ text, untilMs }: StoredOverride): Override | undefined {
  if (text === '') return undefined;
  try {
    return overrideSchema.safeParse({ ...JSON.parse(text), untilMs }).data;
  } catch {
    return undefined;
  }
}

/** What it is about: of two about the same, the later one holds. */
export function subjectOf(override: Override): string {
  if (override.about === 'client') return aboutClient(override.client);
  return override.about === 'policy' ? aboutPolicy(override.policy) : override.about;
}

/** Of each a word for what it does. */
export function overrideEffects(overrides: readonly Override[]): string[] {
  return overrides.map((override) => {
    if (override.about === 'client') return override.access;
    return override.about === 'policy' ? override.mode : override.about;
  });
}

/** What they say of the log. */
export function loggingIn(overrides: readonly Override[]) {
  const level = overrides.find((override) => override.about === 'log_level');
  const allows = overrides.find((override) => override.about === 'log_allows');
  return { level: level?.level, allowsOneIn: allows?.oneIn };
}
