/**
 * The beginning of a policy file is often a valid file itself. So a file that may still be written is loaded only after it
 * has not changed for a while, and after a longer time if it removes policies.
 */
import type { PolicySet } from '../../core/matching/policy-set.ts';
import { printable } from '../../core/printable.ts';
import { ConfigError } from '../diagnostic.ts';
import {
  areSame,
  becameShorter,
  type FileVersions,
  isWrittenInPlace,
  versionsOf,
  type Watched,
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

export interface PolicySource extends Watched {
  /** A reload replaces the whole set. A request uses the set that was current when it began. */
  readonly current: PolicySet;
  readonly notes: readonly string[];
  /** Hexadecimal. Gateways with the same files have the same digest. */
  readonly digest: string;
  readonly history: Readonly<ReloadHistory>;
  /**
   * Rejects with a ConfigError if the files have mistakes, and keeps the current set. Resolves to undefined if they need to
   * settle for longer than `settledMs`, or change while they are read. Without `settledMs`, it loads them as they are.
   * `removed` are the names of policies that the new files no longer have.
   */
  reload(settledMs?: number): Promise<{ readonly removed: readonly string[] } | undefined>;
}

interface ReloadHistory {
  /** Since when the files apply, milliseconds since the epoch. */
  sinceMs: number;
  /** Of the last reload; each mistake as `file:line:column: path: what is wrong`. */
  refused: { readonly atMs: number; readonly mistakes: readonly string[] } | undefined;
}

/** Throws a ConfigError when a file cannot be read or has mistakes. */
export function openPolicySource(paths: PolicyFiles): PolicySource {
  const opened = readPolicies(paths);
  let loaded = compiled(opened);
  const history: ReloadHistory = { sinceMs: Date.now(), refused: undefined };
  let inForce = opened.versions;
  /** The files when they were last read, valid or not. */
  let read = opened.versions;
  /** Files that need longer to settle, in this state. */
  let held: { readonly files: readonly string[]; readonly state: string } | undefined;

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
    const removed = namesMissing(loaded.policySet, reading);
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
    async reload(settledMs) {
      const { digest } = loaded;
      try {
        const reloaded = await load(settledMs);
        if (reloaded !== undefined) history.refused = undefined;
        if (loaded.digest !== digest) history.sinceMs = Date.now();
        return reloaded;
      } catch (error) {
        const mistakes = error instanceof ConfigError ? error.mistakes : [printable(String(error))];
        history.refused = { atMs: Date.now(), mistakes };
        throw error;
      }
    },
  };
}

function lookAt(files: Iterable<string>) {
  const versions = versionsOf(files);
  return { versions, state: [...versions.values()].map(({ id }) => id).join('\n') };
}

function waitsFor(before: FileVersions, now: FileVersions) {
  return isWrittenInPlace(before, now) ? WRITTEN_IN_PLACE_MS : REPLACED_MS;
}

function namesMissing({ policies, fallback }: PolicySet, { found }: Reading): string[] {
  if ('mistakes' in found) return [];
  const names = new Set(found.file.entries.map(({ name }) => name));
  return policies.flatMap((each) => (each === fallback || names.has(each.name) ? [] : each.name));
}

function compiled({ found }: Reading) {
  if ('mistakes' in found) throw new ConfigError(found.mistakes);
  const { file, ranges, notes, digest } = found;
  return { policySet: compilePolicies(file, ranges), notes, digest };
}
