/**
 * The beginning of a policy file is often a valid file itself. So a file that may still be written is loaded only after it
 * has not changed for a while, and after a longer time if it removes policies.
 */
import type { PolicySet } from '../../core/matching/policy-set.ts';
import { printable } from '../../core/printable.ts';
import { ConfigError } from '../config-error.ts';
import {
  areSame,
  becameShorter,
  type FileVersions,
  isWrittenInPlace,
  versionsOf,
} from '../file-watch.ts';
import { SMALL_BYTES } from '../in-thread.ts';
import { compilePolicies } from './compile.ts';
import {
  type PolicyFiles,
  type Reading,
  readPolicies,
  readPoliciesElsewhere,
  readUpTo,
} from './read.ts';

/** How long files must not have changed. Editors and mounts make several changes in a row. */
const REPLACED_MS = { any: 50, removing: 2_000 };
const WRITTEN_IN_PLACE_MS = { any: 2_000, removing: 5_000 };

interface PendingChange {
  readonly state: string;
  /** Milliseconds in this state before the files are read. */
  readonly settledAfterMs: number;
}

export interface PolicySource {
  /** A reload replaces the whole set. A request uses the set that was current when it began. */
  readonly current: PolicySet;
  readonly notes: readonly string[];
  /** Hexadecimal. Gateways with the same files have the same digest. */
  readonly digest: string;
  readonly history: Pick<ReloadHistory, 'sinceMs' | 'refused'>;
  /** The policy file, and the files that it refers to. */
  readonly files: readonly string[];
  /** Undefined while the files are the same as when they were last read. */
  pending(): PendingChange | undefined;
  /**
   * Rejects with a ConfigError if the files have mistakes, and keeps the current set. Resolves to undefined if they need to
   * settle for longer than `settledMs`, or change while they are read. Without `settledMs`, it loads them as they are.
   */
  reload(settledMs?: number): Promise<Reloaded | undefined>;
}

interface Reloaded {
  readonly removed: readonly string[];
}

/** Throws a ConfigError when a file cannot be read or has mistakes. */
export function openPolicySource(paths: PolicyFiles): PolicySource {
  const opened = readPolicies(paths);
  let loaded = compiled(opened);
  const history = new ReloadHistory(Date.now);
  let inForce = opened.versions;
  /** The files when they were last read, valid or not. */
  let read = opened.versions;
  /** Files that need longer to settle, in this state. */
  let held: { readonly files: readonly string[]; readonly state: string } | undefined;

  const lookAt = (files: Iterable<string>) => {
    const versions = versionsOf(files);
    return { versions, state: [...versions.values()].map(({ id }) => id).join('\n') };
  };
  const removedBy = ({ found }: Reading) =>
    'mistakes' in found ? [] : namesMissing(loaded.policySet, found.file.entries);
  const readAnywhere = async () => {
    const { versions } = lookAt(read.keys());
    try {
      return readUpTo(SMALL_BYTES, paths) ?? (await readPoliciesElsewhere(paths));
    } catch (error) {
      // Files that cannot be read are not tried again before they change.
      read = versions;
      throw error;
    }
  };
  const load = async (settledMs = Number.POSITIVE_INFINITY) => {
    const reading = await readAnywhere();
    const removed = removedBy(reading);
    if (settledMs !== Number.POSITIVE_INFINITY) {
      const files = [...reading.versions.keys()];
      if (!areSame(reading.versions, versionsOf(files))) return undefined;
      const isLess = removed.length > 0 || becameShorter(inForce, reading.versions);
      if (isLess && settledMs < waitsFor(read, reading.versions).removing) {
        held = { files, state: lookAt(new Set([...read.keys(), ...files])).state };
        return undefined;
      }
    }
    held = undefined;
    read = reading.versions;
    loaded = compiled(reading);
    inForce = read;
    return { removed };
  };
  return {
    get current() {
      return loaded.policySet;
    },
    get notes() {
      return loaded.notes;
    },
    get digest() {
      return loaded.digest;
    },
    history,
    get files() {
      return [...read.keys()];
    },
    pending() {
      const { versions, state } = lookAt(new Set([...read.keys(), ...(held?.files ?? [])]));
      if (areSame(read, versions)) return undefined;
      const waits = waitsFor(read, versions);
      return { state, settledAfterMs: state === held?.state ? waits.removing : waits.any };
    },
    reload: (settledMs) =>
      history.record(
        () => load(settledMs),
        () => loaded.digest,
      ),
  };
}

function waitsFor(before: FileVersions, now: FileVersions) {
  return isWrittenInPlace(before, now) ? WRITTEN_IN_PLACE_MS : REPLACED_MS;
}

function namesMissing(
  { policies, fallback }: PolicySet,
  entries: readonly { readonly name: string }[],
): string[] {
  const names = new Set(entries.map(({ name }) => name));
  return policies.flatMap((each) => (each === fallback || names.has(each.name) ? [] : each.name));
}

interface Loaded {
  readonly policySet: PolicySet;
  readonly notes: readonly string[];
  readonly digest: string;
}

function compiled({ found }: Reading): Loaded {
  if ('mistakes' in found) throw new ConfigError(found.mistakes);
  const { file, ranges, notes, digest } = found;
  return { policySet: compilePolicies(file, ranges), notes, digest };
}

interface RefusedFiles {
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  /** Each as `file:line:column: path: what is wrong`. */
  readonly mistakes: readonly string[];
}

class ReloadHistory {
  readonly #now: () => number;
  #sinceMs: number;
  #refused: RefusedFiles | undefined;

  constructor(now: () => number) {
    this.#now = now;
    this.#sinceMs = now();
  }

  /** Since when the files apply, milliseconds since the epoch. */
  get sinceMs(): number {
    return this.#sinceMs;
  }

  get refused(): RefusedFiles | undefined {
    return this.#refused;
  }

  async record<T>(
    reload: () => Promise<T | undefined>,
    digest: () => string,
  ): Promise<T | undefined> {
    const before = digest();
    try {
      const reloaded = await reload();
      if (reloaded !== undefined) this.#refused = undefined;
      if (digest() !== before) this.#sinceMs = this.#now();
      return reloaded;
    } catch (error) {
      const mistakes = error instanceof ConfigError ? error.mistakes : [printable(String(error))];
      this.#refused = { atMs: this.#now(), mistakes };
      throw error;
    }
  }
}
