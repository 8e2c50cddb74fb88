/** The policy set in force, and the file that it comes from. */
import { readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { PolicySet } from '../core/policy-set.ts';
import { ConfigError } from './config-error.ts';
import type { KnownRanges } from './identity-config.ts';
import { addressRanges } from './identity-schema.ts';
import { readKeyFile } from './key-list.ts';
import { compilePolicyFile, type LoadedPolicies } from './policy-file.ts';
import { readYaml } from './yaml-text.ts';

const CLOUDFLARE_RANGES_FILE = fileURLToPath(
  new URL('../../config/cloudflare-ranges.yaml', import.meta.url),
);
const rangesSchema = z.strictObject({ updated: z.string(), ranges: addressRanges.min(1) });

export interface PolicySource {
  /** Replaced as a whole; a request is decided by the one that it began with. */
  readonly current: PolicySet;
  /** What the author of the file should know. */
  readonly notes: readonly string[];
  /** Reads the file again. Throws a ConfigError and keeps what is in force when it has mistakes. */
  reload(): void;
}

/** Throws a ConfigError when the file cannot be read or has mistakes. */
export function openPolicySource(path: string): PolicySource {
  let loaded = readPolicyFile(path);
  return {
    get current() {
      return loaded.policySet;
    },
    get notes() {
      return loaded.notes;
    },
    reload() {
      loaded = readPolicyFile(path);
    },
  };
}

/** Throws a ConfigError when the file cannot be read or has mistakes. */
export function readPolicyFile(path: string): LoadedPolicies {
  return compilePolicyFile(readText(path, NAMED_BY_SETTING), displayName(path), {
    ranges: readKnownRanges(),
    readKeyFile(name) {
      const keyFile = resolve(dirname(path), name);
      return readKeyFile(readText(keyFile, NAMED_BY_POLICIES), displayName(keyFile));
    },
  });
}

const NAMED_BY_SETTING = 'HEADGATE_POLICIES names the policy file';
const NAMED_BY_POLICIES = 'identity.api_key.keys names it, from the folder of the policy file';

function readKnownRanges(): KnownRanges {
  const { value } = readYaml(readText(CLOUDFLARE_RANGES_FILE, 'it is part of headgate'));
  const result = rangesSchema.safeParse(value);
  if (result.success) return { cloudflare: result.data.ranges };
  const name = displayName(CLOUDFLARE_RANGES_FILE);
  throw new ConfigError([
    `${name}: must have "updated", a date, and "ranges", a list of CIDR ranges`,
  ]);
}

function readText(path: string, namedBy: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const why =
      (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : 'cannot be read';
    throw new ConfigError([`${displayName(path)}: ${why}; ${namedBy}`]);
  }
}

/** As people in this folder would name it. */
function displayName(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere.startsWith('..') ? path : fromHere;
}
