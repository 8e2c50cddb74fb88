/** Overrides: temporary decisions of operators, how they are stored, and the store of a single process. */
import { z } from 'zod';
import { LOG_LEVELS } from '../../config/settings/settings.ts';
import { POLICY_MODES } from '../../core/policy.ts';
import { WITHOUT_CONTROLS } from '../../core/printable.ts';

/** Milliseconds since the epoch. Reports write years with four digits. */
export const moment = z
  .int()
  .min(0)
  .max(Date.UTC(9999, 11, 31));

/** Operators see it in a terminal, so it has no control characters. */
export const printable = (longest: number) => z.string().max(longest).regex(WITHOUT_CONTROLS);
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
  return readAs(overrideSchema, text, { untilMs });
}

function readAs<T>(schema: z.ZodType<T>, text: string, more: object = {}): T | undefined {
  try {
    return schema.safeParse({ ...JSON.parse(text), ...more }).data;
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
  return text.startsWith('-') ? readAs(removalSchema, text.slice(1)) : undefined;
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

export interface StoredOverride {
  readonly about: string;
  /** Milliseconds since the epoch by the clock of this process. */
  readonly untilMs: number;
  /** A removed override leaves a note (`-...`), or nothing, until it would have ended: so it is not taken for lost. */
  readonly text: string;
}

/** Stores short texts that all gateways read. Every method rejects if the store cannot be reached. */
export interface OverrideStore {
  read(): Promise<readonly StoredOverride[]>;
  /** Rejects with an OverrideStoreFull if there are already MAX_OVERRIDES others. */
  put(override: StoredOverride): Promise<void>;
  /** Stores the overrides that the store has lost. Stored and removed overrides about the same stay as they are. */
  restoreLost(overrides: readonly StoredOverride[]): Promise<void>;
  /** Leaves a note that begins with `-`. Resolves to false if there was no such override. */
  remove(about: string, note?: string): Promise<boolean>;
}

/** Every gateway reads all of them again whenever one changes: a few hundred kilobytes at most. */
export const MAX_OVERRIDES = 1_000;

/** lua/includes/override-bounds.lua decides the same. */
export function isRemoved({ text }: Pick<StoredOverride, 'text'>): boolean {
  return text === '' || text.startsWith('-');
}

export class OverrideStoreFull extends Error {
  override readonly name = 'OverrideStoreFull';
  readonly code = 'HEADGATE_BOARD_FULL';

  constructor() {
    super(`there are already ${MAX_OVERRIDES} overrides`);
  }
}

/** Serves a single gateway without Redis. Overrides are lost when the process ends. */
export class MemoryOverrideStore implements OverrideStore {
  readonly #now: () => number;
  readonly #overrides = new Map<string, StoredOverride>();

  constructor(now: () => number) {
    this.#now = now;
  }

  async read(): Promise<readonly StoredOverride[]> {
    return this.#inForce();
  }

  async put(override: StoredOverride): Promise<void> {
    const others = this.#inForce().filter(
      (each) => each.about !== override.about && !isRemoved(each),
    );
    if (others.length >= MAX_OVERRIDES) throw new OverrideStoreFull();
    this.#overrides.set(override.about, override);
  }

  async restoreLost(overrides: readonly StoredOverride[]): Promise<void> {
    for (const override of overrides) {
      if (!this.#overrides.has(override.about)) this.#overrides.set(override.about, override);
    }
  }

  async remove(about: string, note = ''): Promise<boolean> {
    const known = this.#inForce().find((each) => each.about === about && !isRemoved(each));
    if (known !== undefined) this.#overrides.set(about, { ...known, text: note });
    return known !== undefined;
  }

  #inForce(): StoredOverride[] {
    for (const [about, { untilMs }] of this.#overrides) {
      if (untilMs <= this.#now()) this.#overrides.delete(about);
    }
    return [...this.#overrides.values()];
  }
}
