/** The port to stored overrides, and the override store of a single process. */

export interface StoredOverride {
  readonly about: string;
  /** Milliseconds since the epoch by the clock of this process. */
  readonly untilMs: number;
  /**
   * A removed override leaves a note that begins with `-`, or nothing. It stays until the override would have ended, so
   * that the override is not taken for lost.
   */
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
