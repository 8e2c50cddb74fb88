/**
 * The policy set in force, and the files that it comes from.
 *
 * The beginning of a policy file is often a valid file itself. So a file that somebody may still be writing is taken only
 * after it has not changed for a while, and for longer if it would remove policies.
 */
import type { PolicySet } from '../../core/policy-set.ts';
import { ConfigError } from '../config-error.ts';
import { compilePolicies } from './compile.ts';
import {
  areSame,
  becameShorter,
  type FileVersions,
  isWrittenInPlace,
  versionsOf,
} from './file-version.ts';
import { type PolicyFiles, type Reading, readPolicies, readUpTo } from './read.ts';
import { readPoliciesElsewhere } from './read-in-thread.ts';

/** Parsed in about 20 ms; starting a thread takes a quarter of a second of another core. */
const SMALL_BYTES = 8 * 1024;

/** How long files must have been as they are. Editors and mounts change several things in a row. */
const REPLACED_MS = { any: 50, removing: 2_000 };
const WRITTEN_IN_PLACE_MS = { any: 2_000, removing: 5_000 };

export interface PendingChange {
  /** Changes with the files. */
  readonly state: string;
  /** For how long the files must have been in this state before they are read. */
  readonly settledAfterMs: number;
}

export interface PolicySource {
  /** Replaced as a whole; a request is decided by the one that it began with. */
  readonly current: PolicySet;
  /** What the author of the file should know. */
  readonly notes: readonly string[];
  /** What distinguishes these files from others: the same on every gateway that has the same files. Hexadecimal. */
  readonly digest: string;
  /** The policy file, and the files that it refers to. */
  readonly files: readonly string[];
  /** Undefined while the files are what they were when they were last read. */
  pending(): PendingChange | undefined;
  /**
   * Reads the files again. Rejects with a ConfigError and keeps what is in force when they have mistakes. Undefined when
   * they must be left alone for longer than `settledMs`, or change while they are read; without it, they are taken now.
   */
  reload(settledMs?: number): Promise<Reloaded | undefined>;
}

export interface Reloaded {
  /** The names of policies that were in force, and are not any more. */
  readonly removed: readonly string[];
}

/** Throws a ConfigError when a file cannot be read or has mistakes. */
export function openPolicySource(paths: PolicyFiles): PolicySource {
  const opened = readPolicies(paths);
  let loaded = compiled(opened);
  let inForce = opened.versions;
  /** The files when they were last read, whatever came of it. */
  let read = opened.versions;
  /** Files that are left alone for longer, in this state. */
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
      // What cannot be read now is not tried again before it changes.
      read = versions;
      throw error;
    }
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
    get files() {
      return [...read.keys()];
    },
    pending() {
      const { versions, state } = lookAt(new Set([...read.keys(), ...(held?.files ?? [])]));
      if (areSame(read, versions)) return undefined;
      const waits = waitsFor(read, versions);
      return { state, settledAfterMs: state === held?.state ? waits.removing : waits.any };
    },
    async reload(settledMs = Number.POSITIVE_INFINITY) {
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
    },
  };
}

function waitsFor(before: FileVersions, now: FileVersions) {
  return isWrittenInPlace(before, now) ? WRITTEN_IN_PLACE_MS : REPLACED_MS;
}

/** The names of policies that a file does not have any more. */
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

/** Throws a ConfigError. */
function compiled({ found }: Reading): Loaded {
  if ('mistakes' in found) throw new ConfigError(found.mistakes);
  const { file, ranges, notes, digest } = found;
  return { policySet: compilePolicies(file, ranges), notes, digest };
}
