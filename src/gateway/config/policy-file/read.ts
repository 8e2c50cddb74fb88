import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { compileAddressSet } from '../../core/identity/address.ts';
import { DAY_MS } from '../../core/identity/salts.ts';
import { printable } from '../../core/printable.ts';
import { ConfigError, diagnostic, FileError, lineOf } from '../diagnostic.ts';
import { type FileVersion, type FileVersions, versionOf } from '../file-watch.ts';
import { answerAs, runElsewhere } from '../in-thread.ts';
import { holds } from '../refinement.ts';
import { SHIPPED_RANGES } from '../shipped-files.ts';
import { displayName, readText } from '../text-file.ts';
import { YamlFile } from '../yaml/yaml-file.ts';
import { addressRange } from './access-schema.ts';
import type { KnownRanges } from './compile.ts';
import { readKeyFile } from './key-list.ts';
import { settleTokenMistakes } from './settle-tokens.ts';
import type { ValidFile } from './valid-file.ts';
import { type ValidPolicies, validatePolicyFile } from './validate.ts';

export interface PolicyFiles {
  readonly policies: string;
  readonly cloudflareRanges: string;
}

/** Plain data, since another thread may have read the files. */
export interface Reading {
  /** The version of each file before it was read. Includes refused files, since correcting them may be enough. */
  readonly versions: FileVersions;
  readonly found: Found | { readonly mistakes: readonly string[] };
}

export interface Found {
  readonly file: ValidFile;
  readonly ranges: KnownRanges;
  /** Each as `file:line:column: path: note`. */
  readonly notes: readonly string[];
  readonly digest: string;
}

export function readPolicies(paths: PolicyFiles): Reading {
  return readUpTo(Number.POSITIVE_INFINITY, paths) as Reading;
}

/** Undefined if the files together have more than `maxBytes`. */
export function readUpTo(maxBytes: number, paths: PolicyFiles): Reading | undefined {
  const versions = new Map<string, FileVersion>();
  const digest = createHash('sha256');
  let bytes = 0;
  try {
    const { file, ranges, notes, place } = validateFiles(paths, (path, namedBy) => {
      const version = versionOf(path);
      versions.set(path, version);
      bytes += version.size;
      if (bytes > maxBytes) throw TOO_LARGE;
      const text = readText(path, namedBy);
      // The file may have grown.
      if (text.length > maxBytes) throw TOO_LARGE;
      // The digest must depend on where one file ends and the next begins.
      digest.update(createHash('sha256').update(text).digest());
      return text;
    });
    const shortDigest = digest.digest('hex').slice(0, DIGEST_DIGITS);
    return {
      versions,
      found: {
        file,
        ranges,
        notes: place(notes).map((note) => printable(lineOf(note))),
        digest: shortDigest,
      },
    };
  } catch (error) {
    if (error === TOO_LARGE) return undefined;
    if (!(error instanceof ConfigError)) throw error;
    return { versions, found: { mistakes: error.mistakes } };
  }
}

const TOO_LARGE = Symbol('the files have more than maxBytes');
const DIGEST_DIGITS = 12;

interface ValidFiles extends ValidPolicies {
  readonly ranges: KnownRanges;
  readonly cloudflare: CloudflareRanges;
}

/** Throws a FileError if a file cannot be read or has mistakes. `read` gets the setting or key that names the file. */
export function validateFiles(
  { policies: path, cloudflareRanges: rangesPath }: PolicyFiles,
  read: (path: string, namedBy: string) => string,
): ValidFiles {
  // First, so that its version is recorded even if the policy file cannot be read.
  const text = read(rangesPath, NAMED_BY_RANGES);
  const listed = parseCloudflareRanges(text, displayName(rangesPath));
  const cloudflare = { ...listed, isShipped: rangesPath === SHIPPED_RANGES };
  const valid = validatePolicyFile(read(path, NAMED_BY_SETTING), displayName(path), {
    readKeyFile(name) {
      const keyFile = resolve(dirname(path), name);
      const keys = read(keyFile, NAMED_BY_POLICIES);
      return readKeyFile(keys, displayName(keyFile), dirname(path));
    },
    readPage: (name) => read(resolve(dirname(path), name), NAMED_BY_ANSWERS),
  });
  const ranges = { cloudflare: cloudflare.ranges };
  const mistakes = valid.place(settleTokenMistakes(valid.file, ranges));
  if (mistakes.length > 0) throw new FileError(mistakes);
  return { ...valid, cloudflare, ranges };
}

const NAMED_BY_SETTING = '--policies or HEADGATE_POLICIES names the policy file';
const NAMED_BY_RANGES = 'HEADGATE_CLOUDFLARE_RANGES names the list of Cloudflare networks';
const NAMED_BY_POLICIES =
  'identity.api_key.keys names it, relative to the folder of the policy file';
const NAMED_BY_ANSWERS = 'answers.page names it, relative to the folder of the policy file';

/** Unlike in a policy file, a range cannot be the name `cloudflare`, which is this list. */
const range = addressRange.transform(
  holds((text: string) => {
    compileAddressSet([text]);
    return text;
  }),
);
const schema = z.strictObject({ checked: z.iso.date(), ranges: z.array(range).min(1) });

export interface CloudflareRanges extends z.output<typeof schema> {
  readonly isShipped?: boolean;
}

/** Throws a FileError if the text is not such a list. */
export function parseCloudflareRanges(text: string, fileName: string): CloudflareRanges {
  const yaml = new YamlFile(text, fileName);
  yaml.refuseMistakes();
  const result = schema.safeParse(yaml.value);
  if (result.success) return result.data;
  const message =
    'must have "checked", a date such as 2026-12-31, and "ranges", a list of CIDR ranges';
  const rule = 'invalid-cloudflare-list';
  throw new FileError([diagnostic({ rule, file: fileName, place: undefined, path: '', message })]);
}

const MAX_AGE_DAYS = 90;

export function ageOf({ checked }: CloudflareRanges, nowMs: number): string | undefined {
  const days = Math.floor((nowMs - Date.parse(checked)) / DAY_MS);
  if (days <= MAX_AGE_DAYS) return undefined;
  return `the list of Cloudflare networks is ${days} days old (${checked})`;
}

const WORK = 'readPolicies';

/** Reads in a new thread, because thousands of policies or keys take seconds to parse. Compiling is a tenth of the work. */
export function readPoliciesElsewhere(paths: PolicyFiles): Promise<Reading> {
  return runElsewhere(new URL(import.meta.url), WORK, paths);
}

answerAs(WORK, readPolicies);
