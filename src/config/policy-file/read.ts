/** Reads the policy file, and the files that it refers to, and remembers which version of each it was. */
import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { ConfigError } from '../config-error.ts';
import { displayName, readText } from '../text-file.ts';
import { parseCloudflareRanges, SHIPPED_RANGES } from './cloudflare-ranges.ts';
import type { ValidFile } from './compile.ts';
import { type FileVersion, type FileVersions, versionOf } from './file-version.ts';
import type { KnownRanges } from './identity-config.ts';
import { readKeyFile } from './key-list.ts';
import { type ValidPolicies, validatePolicyFile } from './validate.ts';

/** Paths. */
export interface PolicyFiles {
  readonly policies: string;
  readonly cloudflareRanges: string;
}

/** Plain data: it may come from another thread. */
export interface Reading {
  /** Of each file, as it was before it was read; also of what is refused, since mending it may be all that is missing. */
  readonly versions: FileVersions;
  readonly found: Found | { readonly mistakes: readonly string[] };
}

export interface Found {
  readonly file: ValidFile;
  readonly ranges: KnownRanges;
  readonly notes: readonly string[];
  /** Of the text of all files: the same on every gateway that has the same files. */
  readonly digest: string;
}

export function readPolicies(paths: PolicyFiles): Reading {
  return readUpTo(Number.POSITIVE_INFINITY, paths) as Reading;
}

/** Undefined when the files have more bytes than that, together. */
export function readUpTo(maxBytes: number, paths: PolicyFiles): Reading | undefined {
  const versions = new Map<string, FileVersion>();
  const digest = createHash('sha256');
  let bytes = 0;
  try {
    const { file, ranges, notes } = validateFiles(paths, (path, namedBy) => {
      const version = versionOf(path);
      versions.set(path, version);
      bytes += version.size;
      if (bytes > maxBytes) throw TOO_MUCH;
      const text = readText(path, namedBy);
      // It may have grown.
      if (text.length > maxBytes) throw TOO_MUCH;
      // Where one file ends and the next begins must be plain.
      digest.update(createHash('sha256').update(text).digest());
      return text;
    });
    const shortDigest = digest.digest('hex').slice(0, DIGEST_DIGITS);
    return { versions, found: { file, ranges, notes, digest: shortDigest } };
  } catch (error) {
    if (error === TOO_MUCH) return undefined;
    if (!(error instanceof ConfigError)) throw error;
    return { versions, found: { mistakes: error.mistakes } };
  }
}

const TOO_MUCH = Symbol('the files have more bytes than are wanted');
const DIGEST_DIGITS = 12;

/** Throws a FileError when a file cannot be read or has mistakes. `read` is told by what a file is named. */
export function validateFiles(
  { policies: path, cloudflareRanges: rangesPath }: PolicyFiles,
  read: (path: string, namedBy: string) => string,
): ValidPolicies & { readonly ranges: KnownRanges } {
  // First of all, so that it is known of even if the policy file cannot be read.
  const text = read(rangesPath, NAMED_BY_RANGES);
  const listed = parseCloudflareRanges(text, displayName(rangesPath));
  const cloudflare = { ...listed, isShipped: rangesPath === SHIPPED_RANGES };
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
