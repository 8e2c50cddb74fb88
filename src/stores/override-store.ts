/** Short texts that all gateways read, each until a moment: an override store of this process, and what one has to promise. */

export interface StoredOverride {
  /** Of two overrides about the same, the later one stays. */
  readonly about: string;
  /** From then on it is not there any more, milliseconds since the epoch by the clock of this process. */
  readonly untilMs: number;
  /** Empty for one that was taken down. It stays until it would have ended: what was lost was not taken down. */
  readonly text: string;
}

/** All of it rejects when the override store cannot be reached. */
export interface OverrideStore {
  read(): Promise<readonly StoredOverride[]>;
  /** Rejects with a OverrideStoreFull when there are too many. */
  put(override: StoredOverride): Promise<void>;
  /** Of what the override store has lost; what is there about the same stays, and so does what was taken down. */
  restoreLost(overrides: readonly StoredOverride[]): Promise<void>;
  /** Resolves to false when there was none. */
  remove(about: string): Promise<boolean>;
}

/** What each gateway reads again whenever one of them changes: a few hundred kilobytes at most. */
export const MAX_OVERRIDES = 1_000;

export class OverrideStoreFull extends Error {
  override readonly name = 'OverrideStoreFull';
  readonly code = 'HEADGATE_BOARD_FULL';

  constructor() {
    super(`there are ${MAX_OVERRIDES} already`);
  }
}

/** For one gateway without Redis. It does not survive the process. */
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
      ({ about, text }) => about !== override.about && text !== '',
    );
    if (others.length >= MAX_OVERRIDES) throw new OverrideStoreFull();
    this.#overrides.set(override.about, override);
  }

  async restoreLost(overrides: readonly StoredOverride[]): Promise<void> {
    for (const override of overrides) {
      if (!this.#overrides.has(override.about)) this.#overrides.set(override.about, override);
    }
  }

  async remove(about: string): Promise<boolean> {
    const known = this.#inForce().find((each) => each.about === about && each.text !== '');
    if (known !== undefined) this.#overrides.set(about, { ...known, text: '' });
    return known !== undefined;
  }

  #inForce(): StoredOverride[] {
    for (const [about, { untilMs }] of this.#overrides) {
      if (untilMs <= this.#now()) this.#overrides.delete(about);
    }
    return [...this.#overrides.values()];
  }
}
