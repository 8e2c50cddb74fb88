/** The policy set in force, and the files that it comes from. */
import type { PolicySet } from '../core/policy-set.ts';
import { ConfigError } from './config-error.ts';
import { compilePolicies } from './policy-compile.ts';
import {
  type PolicyFiles,
  type Reading,
  readPolicies,
  readUpTo,
  versionOf,
} from './policy-reader.ts';
import { readPoliciesElsewhere } from './policy-thread.ts';

/** Parsed in about 20 ms; starting a thread takes a quarter of a second of another core. */
const SMALL_BYTES = 8 * 1024;

export interface PolicySource {
  /** Replaced as a whole; a request is decided by the one that it began with. */
  readonly current: PolicySet;
  /** What the author of the file should know. */
  readonly notes: readonly string[];
  /** The policy file, and the files that it refers to. */
  readonly files: readonly string[];
  /** Whether one of them is not what it was when reading it last began. */
  isStale(): boolean;
  /** Reads the files again. Rejects with a ConfigError and keeps what is in force when they have mistakes. */
  reload(): Promise<void>;
}

/** Throws a ConfigError when a file cannot be read or has mistakes. */
export function openPolicySource(paths: PolicyFiles): PolicySource {
  let versions: ReadonlyMap<string, string>;
  const take = ({ versions: read, found }: Reading) => {
    versions = read;
    if ('mistakes' in found) throw new ConfigError(found.mistakes);
    return { policySet: compilePolicies(found.file, found.ranges), notes: found.notes };
  };
  let loaded = take(readPolicies(paths));
  return {
    get current() {
      return loaded.policySet;
    },
    get notes() {
      return loaded.notes;
    },
    get files() {
      return [...versions.keys()];
    },
    isStale: () => [...versions].some(([path, version]) => versionOf(path) !== version),
    async reload() {
      // As they are now: what changes while they are read is stale once more.
      versions = new Map(this.files.map((path) => [path, versionOf(path)]));
      loaded = take(readUpTo(SMALL_BYTES, paths) ?? (await readPoliciesElsewhere(paths)));
    },
  };
}
