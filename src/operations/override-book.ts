/** The overrides in force: those that all gateways find on their override store. Each ends on time, whether or not it can be read. */

import type { Access } from '../core/access-lists.ts';
import type { Overrides } from '../core/overrides.ts';
import type { PolicyMode } from '../core/policy.ts';
import type { OverrideStore, StoredOverride } from '../stores/override-store.ts';
import { fromStored, type Override, subjectOf, toStored } from './override.ts';

export interface OverrideBookOptions {
  readonly overrideStore: OverrideStore;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onChange: (inForce: readonly Override[]) => void;
  /** The override store had lost so many; they are on it again. */
  readonly onRestored: (count: number) => void;
}

/** What ends that soon is not put up again. */
const SOON_MS = 2_000;
/** Of timers (https://nodejs.org/api/timers.html#settimeoutcallback-delay-args). */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class OverrideBook {
  readonly #options: OverrideBookOptions;
  #inForce: readonly Override[] = [];
  #current: Overrides = snapshotOf([]);
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> | undefined;
  #isStale = false;

  constructor(options: OverrideBookOptions) {
    this.#options = options;
  }

  get current(): Overrides {
    return this.#current;
  }

  /** The first to end comes first. */
  list(): readonly Override[] {
    return this.#inForce;
  }

  /** Rejects when the override store cannot be reached, or is full. */
  async write(override: Override): Promise<void> {
    await this.#options.overrideStore.put(toStored(override));
    await this.refresh();
  }

  /** Resolves to false when there was none. Rejects when the override store cannot be reached. */
  async remove(about: string): Promise<boolean> {
    const wasThere = await this.#options.overrideStore.remove(about);
    await this.refresh();
    return wasThere;
  }

  /** Takes up what is on the override store. Rejects, and keeps what is in force, when it cannot be reached. */
  refresh(): Promise<void> {
    // What is being read may have changed since.
    this.#isStale = this.#reading !== undefined;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  async #read(): Promise<void> {
    do {
      this.#isStale = false;
      const { overrideStore } = this.#options;
      let stored = await overrideStore.read();
      const lost = this.#lostFrom(stored);
      if (lost.length > 0) {
        await overrideStore.restoreLost(lost.map(toStored));
        this.#options.onRestored(lost.length);
        stored = await overrideStore.read();
      }
      const found = stored.map(fromStored).filter((each) => each !== undefined);
      // If the override store was emptied again meanwhile, what was lost stays in force.
      this.#take([...found, ...this.#lostFrom(stored)]);
    } while (this.#isStale);
  }

  /** An override store that was emptied has not taken anything down: that leaves a trace. */
  #lostFrom(stored: readonly StoredOverride[]): Override[] {
    const there = new Set(stored.map(({ about }) => about));
    const soonMs = this.#options.now() + SOON_MS;
    return this.#inForce.filter(
      (override) => override.untilMs > soonMs && !there.has(subjectOf(override)),
    );
  }

  #take(found: readonly Override[]): void {
    const { now, onChange } = this.#options;
    const nowMs = now();
    const inForce = found
      .filter(({ untilMs }) => untilMs > nowMs)
      .sort((a, b) => a.untilMs - b.untilMs);
    if (JSON.stringify(inForce) !== JSON.stringify(this.#inForce)) {
      this.#inForce = inForce;
      this.#current = snapshotOf(inForce);
      onChange(inForce);
    }
    this.#waitForTheNextEnd(nowMs);
  }

  #waitForTheNextEnd(nowMs: number): void {
    clearTimeout(this.#timer);
    const [first] = this.#inForce;
    if (first === undefined) return;
    const waitMs = Math.min(first.untilMs - nowMs, LONGEST_TIMER_MS);
    this.#timer = setTimeout(() => this.#take(this.#inForce), waitMs).unref();
  }
}

function snapshotOf(overrides: readonly Override[]): Overrides {
  const access = new Map<string, Access>();
  const modes = new Map<string, PolicyMode>();
  let hasLongAddresses = false;
  for (const override of overrides) {
    if (override.about === 'client') {
      access.set(override.client, override.access);
      hasLongAddresses ||= override.isLong;
    } else if (override.about === 'policy') modes.set(override.policy, override.mode);
  }
  return { access, modes, hasLongAddresses };
}
