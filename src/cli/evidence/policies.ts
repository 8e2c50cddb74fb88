/** Reads policy files for replays. The result is plain data, so that threads can share it. */
import { ConfigError } from '../../gateway/config/diagnostic.ts';
import { compilePolicies, type KnownRanges } from '../../gateway/config/policy-file/compile.ts';
import { readPolicies } from '../../gateway/config/policy-file/read.ts';
import type { ValidFile } from '../../gateway/config/policy-file/valid-file.ts';
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

/** All threads together remember so many. A gateway remembers 10,000; a log has more, and they come again. */
const REMEMBERED_ADDRESSES = 1_000_000;

/** `threads` share the clients of a log; without it, the policies decide few requests. */
export function policySetOf({ file, ranges }: ReadPolicies, threads?: number): PolicySet {
  return compilePolicies(file, ranges, threads && Math.ceil(REMEMBERED_ADDRESSES / threads));
}

export function hostPoliciesOf({ file: { entries } }: ReadPolicies): Set<string> {
  return new Set(entries.flatMap(({ name, match }) => (match?.host === undefined ? [] : [name])));
}
