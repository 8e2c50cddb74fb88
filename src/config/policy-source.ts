/** The policy set in force, and the file that it comes from. */
import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import type { PolicySet } from '../core/policy-set.ts';
import { parseCloudflareRanges } from './cloudflare-ranges.ts';
import { ConfigError } from './config-error.ts';
import { readKeyFile } from './key-list.ts';
import { compilePolicyFile, type LoadedPolicies } from './policy-file.ts';

/** Paths. */
export interface PolicyFiles {
  readonly policies: string;
  readonly cloudflareRanges: string;
}

export interface PolicySource {
  /** Replaced as a whole; a request is decided by the one that it began with. */
  readonly current: PolicySet;
  /** What the author of the file should know. */
  readonly notes: readonly string[];
  /** The policy file, and the files that it refers to. */
  readonly files: readonly string[];
  /** Whether one of them is not what it was when it was last read. */
  isStale(): boolean;
  /** Reads the files again. Throws a ConfigError and keeps what is in force when they have mistakes. */
  reload(): void;
}

/** Throws a ConfigError when the file cannot be read or has mistakes. */
export function openPolicySource(paths: PolicyFiles): PolicySource {
  const versions = new Map<string, string>();
  const read = () => {
    versions.clear();
    // Before it is read: what happens to a file meanwhile is another version. Also of what is refused: mending one of
    // these files may be all that is missing.
    return readPolicyFile(paths, (path) => versions.set(path, versionOf(path)));
  };
  let loaded = read();
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
    reload() {
      loaded = read();
    },
  };
}

/** Changes with the file. */
function versionOf(path: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(path);
    return [ino, size, mtimeMs, ctimeMs].join(' ');
  } catch {
    return 'none';
  }
}

/** Throws a ConfigError when the file cannot be read or has mistakes. */
export function readPolicyFile(
  { policies: path, cloudflareRanges: rangesPath }: PolicyFiles,
  beforeReading: (path: string) => void = () => {},
): LoadedPolicies {
  const read = (file: string, namedBy: string) => {
    beforeReading(file);
    return readText(file, namedBy);
  };
  // First of all, so that it is known of even if the policy file cannot be read.
  const ranges = read(rangesPath, NAMED_BY_RANGES);
  return compilePolicyFile(read(path, NAMED_BY_SETTING), displayName(path), {
    cloudflare: parseCloudflareRanges(ranges, displayName(rangesPath)),
    readKeyFile(name) {
      const keyFile = resolve(dirname(path), name);
      return readKeyFile(read(keyFile, NAMED_BY_POLICIES), displayName(keyFile));
    },
  });
}

const NAMED_BY_SETTING = 'HEADGATE_POLICIES names the policy file';
const NAMED_BY_RANGES = 'HEADGATE_CLOUDFLARE_RANGES names the list of Cloudflare networks';
const NAMED_BY_POLICIES = 'identity.api_key.keys names it, from the folder of the policy file';

/** What is larger is none of these files, and is not worth the time to read. */
const MAX_BYTES = 16 * 1024 * 1024;

function readText(path: string, namedBy: string): string {
  try {
    // Opening a pipe would wait for somebody to write into it.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return readRegularFile(file, displayName(path));
    } finally {
      closeSync(file);
    }
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    const why =
      (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : 'cannot be read';
    throw new ConfigError([`${displayName(path)}: ${why}; ${namedBy}`]);
  }
}

/** Throws a ConfigError for what has no end, or too late a one. */
function readRegularFile(file: number, name: string): string {
  const found = fstatSync(file);
  if (!found.isFile()) throw new ConfigError([`${name}: cannot be read; it is no regular file`]);
  if (found.size > MAX_BYTES) {
    throw new ConfigError([
      `${name}:1:1: the file has ${found.size} bytes, the most is ${MAX_BYTES}`,
    ]);
  }
  return readFileSync(file, 'utf8');
}

/** As people in this folder would name it. */
function displayName(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere.startsWith('..') ? path : fromHere;
}
