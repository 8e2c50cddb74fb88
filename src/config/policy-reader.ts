/** Reads the policy file, and the files that it refers to, and remembers which version of each it was. */
import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseCloudflareRanges } from './cloudflare-ranges.ts';
import { ConfigError } from './config-error.ts';
import type { KnownRanges } from './identity-config.ts';
import { readKeyFile } from './key-list.ts';
import type { ValidFile } from './policy-compile.ts';
import { type ValidPolicies, validatePolicyFile } from './policy-file.ts';
import { displayName, readText } from './text-file.ts';

/** Paths. */
export interface PolicyFiles {
  readonly policies: string;
  readonly cloudflareRanges: string;
}

/** Plain data: it may come from another thread. */
export interface Reading {
  /** Of each file, as it was before it was read; also of what is refused, since mending it may be all that is missing. */
  readonly versions: ReadonlyMap<string, string>;
  readonly found: Found | { readonly mistakes: readonly string[] };
}

export interface Found {
  readonly file: ValidFile;
  readonly ranges: KnownRanges;
  readonly notes: readonly string[];
}

export function readPolicies(paths: PolicyFiles): Reading {
  return readUpTo(Number.POSITIVE_INFINITY, paths) as Reading;
}

/** Undefined when the files have more bytes than that, together. */
export function readUpTo(maxBytes: number, paths: PolicyFiles): Reading | undefined {
  const versions = new Map<string, string>();
  let bytes = 0;
  try {
    const { file, ranges, notes } = validateFiles(paths, (path, namedBy) => {
      versions.set(path, versionOf(path));
      bytes += sizeOf(path);
      if (bytes > maxBytes) throw TOO_MUCH;
      return readText(path, namedBy);
    });
    return { versions, found: { file, ranges, notes } };
  } catch (error) {
    if (error === TOO_MUCH) return undefined;
    if (!(error instanceof ConfigError)) throw error;
    return { versions, found: { mistakes: error.mistakes } };
  }
}

const TOO_MUCH = Symbol('the files have more bytes than are wanted');

/** Changes with the file. */
export function versionOf(path: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(path);
    return [ino, size, mtimeMs, ctimeMs].join(' ');
  } catch {
    return 'none';
  }
}

/** Of what cannot be looked at, nothing: reading it will say why. */
function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}

/** Throws a FileError when a file cannot be read or has mistakes. `read` is told by what a file is named. */
export function validateFiles(
  { policies: path, cloudflareRanges: rangesPath }: PolicyFiles,
  read: (path: string, namedBy: string) => string,
): ValidPolicies & { readonly ranges: KnownRanges } {
  // First of all, so that it is known of even if the policy file cannot be read.
  const text = read(rangesPath, NAMED_BY_RANGES);
  const cloudflare = parseCloudflareRanges(text, displayName(rangesPath));
  const valid = validatePolicyFile(read(path, NAMED_BY_SETTING), displayName(path), {
    cloudflare,
    readKeyFile(name) {
      const keyFile = resolve(dirname(path), name);
      return readKeyFile(read(keyFile, NAMED_BY_POLICIES), displayName(keyFile));
    },
  });
  return { ...valid, ranges: { cloudflare: cloudflare.ranges } };
}

const NAMED_BY_SETTING = 'HEADGATE_POLICIES names the policy file';
const NAMED_BY_RANGES = 'HEADGATE_CLOUDFLARE_RANGES names the list of Cloudflare networks';
const NAMED_BY_POLICIES = 'identity.api_key.keys names it, from the folder of the policy file';
