/** The policy set in force, and the file that it comes from. */
import { readFileSync } from 'node:fs';
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
  /** Reads the file again. Throws a ConfigError and keeps what is in force when it has mistakes. */
  reload(): void;
}

/** Throws a ConfigError when the file cannot be read or has mistakes. */
export function openPolicySource(files: PolicyFiles): PolicySource {
  let loaded = readPolicyFile(files);
  return {
    get current() {
      return loaded.policySet;
    },
    get notes() {
      return loaded.notes;
    },
    reload() {
      loaded = readPolicyFile(files);
    },
  };
}

/** Throws a ConfigError when the file cannot be read or has mistakes. */
export function readPolicyFile({
  policies: path,
  cloudflareRanges: rangesPath,
}: PolicyFiles): LoadedPolicies {
  return compilePolicyFile(readText(path, NAMED_BY_SETTING), displayName(path), {
    cloudflare: parseCloudflareRanges(
      readText(rangesPath, 'HEADGATE_CLOUDFLARE_RANGES names the list of Cloudflare networks'),
      displayName(rangesPath),
    ),
    readKeyFile(name) {
      const keyFile = resolve(dirname(path), name);
      return readKeyFile(readText(keyFile, NAMED_BY_POLICIES), displayName(keyFile));
    },
  });
}

const NAMED_BY_SETTING = 'HEADGATE_POLICIES names the policy file';
const NAMED_BY_POLICIES = 'identity.api_key.keys names it, from the folder of the policy file';

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
