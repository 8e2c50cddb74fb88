/** Reads the policy file, and the files that it refers to, and remembers which version of each it was. */
import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { parseCloudflareRanges } from './cloudflare-ranges.ts';
import { ConfigError } from './config-error.ts';
import type { KnownRanges } from './identity-config.ts';
import { readKeyFile } from './key-list.ts';
import { compilePolicies, type ValidFile } from './policy-compile.ts';
import { type ValidPolicies, validatePolicyFile } from './policy-file.ts';

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
    const { file, ranges, notes } = validate(paths, (path) => {
      versions.set(path, versionOf(path));
      bytes += sizeOf(path);
      if (bytes > maxBytes) throw TOO_MUCH;
    });
    return { versions, found: { file, ranges, notes } };
  } catch (error) {
    if (error === TOO_MUCH) return undefined;
    if (!(error instanceof ConfigError)) throw error;
    return { versions, found: { mistakes: error.mistakes } };
  }
}

const TOO_MUCH = Symbol('the files have more bytes than are wanted');

/** For who wants to know more. Throws a ConfigError when a file cannot be read or has mistakes. */
export function examinePolicies(paths: PolicyFiles, nowMs: number) {
  const { file, ranges, notes, advice } = validate(paths, () => {});
  const policySet = compilePolicies(file, ranges);
  return { policySet, notes: [...notes, ...advice(policySet, nowMs)] };
}

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

function validate(
  { policies: path, cloudflareRanges: rangesPath }: PolicyFiles,
  beforeReading: (path: string) => void,
): ValidPolicies & { readonly ranges: KnownRanges } {
  const read = (file: string, namedBy: string) => {
    beforeReading(file);
    return readText(file, namedBy);
  };
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
