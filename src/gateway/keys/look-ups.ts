/**
 * Looks up keys in the store: all requests of a turn of the event loop in one call, as takes are, and each key once. With
 * several slots of a cluster, one call for each.
 */
import { copyOf } from '../core/copied-text.ts';
import type { StoreError } from '../core/counting/store.ts';
import type { StoredKey } from '../core/identity/key-directory.ts';
import { CallDeadlines, storeErrorFrom } from '../stores/redis/failures.ts';
import { InventedKeys } from './invented-keys.ts';
import type { KeyEvents } from './key-events.ts';
import type { KeyStore } from './key-store.ts';
import type { KnownKeys } from './known-keys.ts';

/** More would keep the store busy for longer than a batch of takes does. The rest goes with the next turn. */
const MOST_IN_A_TURN = 128;
const MOST_WAITING = 5_000;

/** `unanswered`: the store was late or failed. */
type Outcome = 'found' | 'none' | 'unanswered';

interface LookUp {
  readonly digest: string;
  readonly outcome: Promise<Outcome>;
  readonly resolve: (outcome: Outcome) => void;
  /** The key was changed since it was sent, so the answer may be older than the change, and is not used. */
  isOutdated: boolean;
}

export interface LookUpsOptions {
  readonly store: Pick<KeyStore, 'groupsOf' | 'lookUp'>;
  readonly known: KnownKeys;
  readonly deadlineMs: number;
  readonly events: KeyEvents;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
}

export class LookUps {
  readonly #options: LookUpsOptions;
  readonly #invented: InventedKeys;
  readonly #deadlines: CallDeadlines;
  /** By their digests, until the store answers, even if that is too late. */
  readonly #underWay = new Map<string, LookUp>();
  #waiting: LookUp[] = [];
  /** Calls that the store has not answered in time. */
  #late = 0;

  constructor(options: LookUpsOptions) {
    this.#options = options;
    this.#invented = new InventedKeys(options.now);
    this.#deadlines = new CallDeadlines(options.deadlineMs);
  }

  /** As `KeyDirectory.lookUp`. */
  lookUp(digests: readonly string[], addressOf: () => string): Promise<void> | undefined {
    const { known } = this.#options;
    if (digests.every((digest) => known.has(digest))) return undefined;
    const address = addressOf();
    let outcomes: Promise<Outcome>[] | undefined;
    let hasBegun = false;
    for (const digest of digests) {
      if (known.has(digest)) continue;
      const underWay = this.#underWay.get(digest);
      const lookUp = underWay ?? this.#begin(digest, address);
      if (lookUp === undefined) continue;
      hasBegun ||= underWay === undefined;
      outcomes ??= [];
      outcomes.push(lookUp.outcome);
    }
    if (outcomes === undefined) return undefined;
    // A customer may send more than the key: it has invented nothing if one of all is found.
    const mayInvent = hasBegun && digests.every((digest) => known.find(digest) === undefined);
    return Promise.all(outcomes).then((ended) => {
      if (mayInvent && ended.every((each) => each === 'none')) this.#invented.foundNone(address);
    });
  }

  /** Call this when keys were changed: these, or any if undefined. */
  changed(digests: readonly string[] | undefined): void {
    for (const digest of digests ?? this.#underWay.keys()) {
      const lookUp = this.#underWay.get(digest);
      if (lookUp !== undefined) lookUp.isOutdated = true;
    }
  }

  #begin(digest: string, address: string): LookUp | undefined {
    const { events } = this.#options;
    // While the store owes an answer, further calls would only make their requests late too.
    if (this.#late > 0 || this.#waiting.length >= MOST_WAITING) {
      events.lookUpsLate(1);
      return undefined;
    }
    if (!this.#invented.mayLookUp(address)) {
      events.tooManyInvented(address);
      return undefined;
    }
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const lookUp = { digest: copyOf(digest), outcome: promise, resolve, isOutdated: false };
    this.#underWay.set(lookUp.digest, lookUp);
    this.#enqueue(lookUp);
    return lookUp;
  }

  #enqueue(lookUp: LookUp): void {
    this.#waiting.push(lookUp);
    if (this.#waiting.length === 1) setImmediate(() => this.#sendSome());
  }

  #sendSome(): void {
    const sent = this.#waiting.splice(0, MOST_IN_A_TURN);
    if (this.#waiting.length > 0) setImmediate(() => this.#sendSome());
    for (const group of this.#options.store.groupsOf(sent.map(({ digest }) => digest))) {
      void this.#send(group.map((digest) => this.#underWay.get(digest) as LookUp));
    }
  }

  async #send(lookUps: readonly LookUp[]): Promise<void> {
    const { store, events } = this.#options;
    const ends = this.#deadlines.begin(() => {
      this.#late++;
      for (const { resolve } of lookUps) resolve('unanswered');
      events.lookUpsLate(lookUps.length);
    });
    let found: readonly (StoredKey | undefined)[] | undefined;
    let failure: StoreError | undefined;
    try {
      found = await store.lookUp(lookUps.map(({ digest }) => digest));
    } catch (cause) {
      failure = storeErrorFrom(cause);
    }
    const isInTime = ends();
    if (!isInTime) this.#late--;
    let [answered, known] = [0, 0];
    for (const [i, lookUp] of lookUps.entries()) {
      if (lookUp.isOutdated && isInTime && found !== undefined) {
        lookUp.isOutdated = false;
        this.#enqueue(lookUp);
        continue;
      }
      answered++;
      if (found?.[i] !== undefined) known++;
      this.#underWay.delete(lookUp.digest);
      if (found === undefined) lookUp.resolve('unanswered');
      else this.#answer(lookUp, found[i], isInTime);
    }
    // Those that came too late were reported then.
    if (isInTime && failure !== undefined) events.lookUpsFailed(failure, answered);
    else if (isInTime) events.lookedUp(answered, known);
  }

  #answer({ digest, resolve, isOutdated }: LookUp, key: StoredKey | undefined, isInTime: boolean) {
    const { known } = this.#options;
    if (isOutdated) resolve('unanswered');
    else if (key !== undefined) {
      known.rememberFound(digest, key);
      resolve('found');
    } else {
      if (isInTime) known.rememberUnknown(digest);
      resolve('none');
    }
  }
}
