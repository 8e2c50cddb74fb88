/** The overrides in force, as the override store has them. Each ends on time even if the store cannot be reached. */
import { LRUCache } from 'lru-cache';
import type { Access } from '../../core/identity/access-lists.ts';
import { DAY_MS } from '../../core/identity/salts.ts';
import type { Overrides } from '../../core/overrides.ts';
import type { PolicyMode } from '../../core/policy.ts';
import {
  type EndedOverride,
  fromStored,
  type Override,
  type OverrideStore,
  removalIn,
  removalNote,
  type StoredOverride,
  subjectOf,
  toStored,
} from './override.ts';

interface OverrideBookOptions {
  readonly overrideStore: OverrideStore;
  readonly now: () => number;
  readonly onChange: (inForce: readonly Override[]) => void;
  readonly onRestored: (count: number) => void;
}

/** A lost override that ends sooner is not stored again. */
const ENDS_SOON_MS = 2_000;
/** The longest delay of setTimeout, 24.8 days; a longer one fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class OverrideBook {
  readonly #options: OverrideBookOptions;
  #inForce: readonly Override[] = [];
  #current: Overrides = snapshotOf([]);
  readonly #ended = endedOverrides();
  readonly #replaced = endedOverrides();
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> | undefined;
  #isStale = false;

  constructor(options: OverrideBookOptions) {
    this.#options = options;
  }

  get current(): Overrides {
    return this.#current;
  }

  list(): readonly Override[] {
    return this.#inForce;
  }

  /** Those of the last day that this gateway knows. The one that ended last comes first. */
  ended(): readonly EndedOverride[] {
    return this.#ended.list(this.#options.now());
  }

  known(): readonly Override[] {
    const nowMs = this.#options.now();
    const past = [...this.#ended.list(nowMs), ...this.#replaced.list(nowMs)];
    return [...this.#inForce, ...past.map(({ override }) => override)];
  }

  async write(override: Override): Promise<void> {
    await this.#options.overrideStore.put(toStored(override));
    await this.refresh();
  }

  /** Resolves to false if there was no such override. Rejects if the override store cannot be reached. */
  async remove(subject: string, by: string): Promise<boolean> {
    const { overrideStore, now } = this.#options;
    const wasThere = await overrideStore.remove(subject, removalNote({ atMs: now(), by }));
    await this.refresh();
    return wasThere;
  }

  /** Reads the override store. If it cannot be reached, rejects and keeps the overrides in force. */
  refresh(): Promise<void> {
    // The store may have changed since the current read began, so that read has to be repeated.
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
      // If the store lost them again meanwhile, they stay in force.
      this.#take([...found, ...this.#lostFrom(stored)], stored);
    } while (this.#isStale);
  }

  /** The overrides that the store lost. One that an operator removed leaves an empty entry there, so it is not lost. */
  #lostFrom(stored: readonly StoredOverride[]): Override[] {
    const there = new Set(stored.map(({ about }) => about));
    const soonMs = this.#options.now() + ENDS_SOON_MS;
    return this.#inForce.filter(
      (override) => override.untilMs > soonMs && !there.has(subjectOf(override)),
    );
  }

  /** `stored`: the entries of the store, which has notes of removed overrides. */
  #take(found: readonly Override[], stored: readonly StoredOverride[]): void {
    const { now, onChange } = this.#options;
    const nowMs = now();
    const inForce = found
      .filter(({ untilMs }) => untilMs > nowMs)
      .sort((a, b) => a.untilMs - b.untilMs);
    if (JSON.stringify(inForce) !== JSON.stringify(this.#inForce)) {
      this.#rememberEnded(inForce, stored);
      this.#inForce = inForce;
      this.#current = snapshotOf(inForce);
      onChange(inForce);
    }
    this.#waitForNextEnd(nowMs);
  }

  /** An override that another one replaces has not ended. */
  #rememberEnded(inForce: readonly Override[], stored: readonly StoredOverride[]): void {
    const nowMs = this.#options.now();
    const there = new Map(inForce.map((each) => [subjectOf(each), each]));
    for (const override of this.#inForce) {
      const subject = subjectOf(override);
      const next = there.get(subject);
      if (next !== undefined) {
        const isReplaced = next.sinceMs !== override.sinceMs;
        if (isReplaced) this.#replaced.add({ override, endedMs: next.sinceMs, endedBy: next.by });
        continue;
      }
      const entry = stored.find(({ about }) => about === subject);
      this.#ended.add({ override, ...endOf(override, entry, nowMs) });
    }
  }

  #waitForNextEnd(nowMs: number): void {
    clearTimeout(this.#timer);
    const [first] = this.#inForce;
    if (first === undefined) return;
    const waitMs = Math.min(first.untilMs - nowMs, LONGEST_TIMER_MS);
    this.#timer = setTimeout(() => this.#take(this.#inForce, []), waitMs).unref();
  }
}

/** `entry`: what the store has in place of the override; nothing after it expired. */
function endOf({ untilMs }: Override, entry: StoredOverride | undefined, nowMs: number) {
  const removal = entry && removalIn(entry);
  if (removal !== undefined) return { endedMs: removal.atMs, endedBy: removal.by };
  if (entry === undefined || untilMs <= nowMs) {
    return { endedMs: Math.min(untilMs, nowMs), endedBy: undefined };
  }
  // A gateway of an older version removed it and left no note.
  return { endedMs: nowMs, endedBy: 'unknown' };
}

function snapshotOf(overrides: readonly Override[]): Overrides {
  const access = new Map<string, Access>();
  const sinceMs = new Map<string, number>();
  const modes = new Map<string, PolicyMode>();
  let hasLongAddresses = false;
  for (const override of overrides) {
    if (override.about === 'client') {
      access.set(override.client, override.access);
      sinceMs.set(override.client, override.sinceMs);
      hasLongAddresses ||= override.isLong;
    } else if (override.about === 'policy') modes.set(override.policy, override.mode);
  }
  return { access, sinceMs, modes, hasLongAddresses };
}

const MAX_ENDED = 100;
const KEEP_ENDED_MS = DAY_MS;

/** Remembers the overrides that ended last, so that operators learn when each one ended, and who ended it. */
function endedOverrides() {
  /** The keys are subject and start. */
  const known = new LRUCache<string, EndedOverride>({ max: MAX_ENDED });
  return {
    add: (ended: EndedOverride) =>
      void known.set(`${subjectOf(ended.override)} ${ended.override.sinceMs}`, ended),
    /** The one that ended last comes first. */
    list: (nowMs: number): EndedOverride[] =>
      [...known.values()].filter(({ endedMs }) => nowMs - endedMs < KEEP_ENDED_MS),
  };
}
