/** Reads policy files for replays, as plain data, so that threads can share them. */
import { createSecretKey, randomBytes } from 'node:crypto';
import { ConfigError } from '../../gateway/config/diagnostic.ts';
import { compilePolicies, type KnownRanges } from '../../gateway/config/policy-file/compile.ts';
import { readPolicies } from '../../gateway/config/policy-file/read.ts';
import type { ValidFile } from '../../gateway/config/policy-file/valid-file.ts';
import { SALT_BYTES, type SaltSource, type Salts } from '../../gateway/core/identity/salts.ts';
import type { PolicySet } from '../../gateway/core/matching/policy-set.ts';

export interface ReadPolicies {
  readonly file: ValidFile;
  readonly ranges: KnownRanges;
}

export function readPolicyFile(path: string, cloudflareRanges: string): ReadPolicies {
  const { found } = readPolicies({ policies: path, cloudflareRanges });
  if ('mistakes' in found) throw new ConfigError(found.mistakes);
  const { file, ranges } = found;
  return { file, ranges };
}

/** A gateway remembers 10,000 addresses; a log has more, and they come again. */
const REMEMBERED_ADDRESSES = 1_000_000;

/** `identifiesAll`: every request of a log is identified by the policies, and not only a few. */
export function policySetOf({ file, ranges }: ReadPolicies, identifiesAll = false): PolicySet {
  return compilePolicies(file, ranges, identifiesAll ? REMEMBERED_ADDRESSES : undefined);
}

export function hostPoliciesOf({ file: { entries } }: ReadPolicies): Set<string> {
  return new Set(entries.flatMap(({ name, match }) => (match?.host === undefined ? [] : [name])));
}

/**
 * Salts that never change: what reads a log as a whole stores no names of addresses, so a client may have one name on all
 * days. They are random, because reports show names of users.
 */
export function lastingSalts(): SaltSource {
  const kept = createSecretKey(randomBytes(SALT_BYTES));
  const daily = { startMs: 0, current: kept, previous: undefined };
  const withoutLong: Salts = { kept, daily, long: undefined };
  const withLong: Salts = { kept, daily, long: daily };
  return { at: (_nowMs, hasLongWindows) => (hasLongWindows ? withLong : withoutLong) };
}
