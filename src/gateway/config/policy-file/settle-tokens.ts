import { LONGEST_TOKEN, largestToken } from '../../settlement/token-size.ts';
import type { DiagnosticDraft } from '../diagnostic.ts';
import { afterwardsOf } from './afterwards-schema.ts';
import { compilePolicies, type KnownRanges } from './compile.ts';
import { allLimits, type ValidFile } from './valid-file.ts';

/** Compiles the file only if it has limits that charge afterwards. */
export function settleTokenMistakes(file: ValidFile, ranges: KnownRanges): DiagnosticDraft[] {
  const limits = [file.fallback, ...file.entries].flatMap(allLimits);
  if (limits.every((limit) => afterwardsOf(limit) === undefined)) return [];
  const settling = compilePolicies(file, ranges).policies.filter(({ settles }) => settles);
  return settling.flatMap((policy): DiagnosticDraft[] => {
    const besides = settling.filter(
      ({ name }) =>
        name !== policy.name && file.entries.some((each) => each.always && each.name === name),
    );
    const length = largestToken([policy, ...besides]);
    if (length <= LONGEST_TOKEN) return [];
    const index = file.entries.findIndex(({ name }) => name === policy.name);
    const path = index === -1 ? ['default'] : ['policies', index];
    const among = besides.length === 0 ? '' : ' together with those of policies with always: true';
    const message = `limits with reserve or refund${among} need a settle token of ${length} characters, the maximum is ${LONGEST_TOKEN}: use fewer of them, or fewer ipv6_prefixes`;
    return [{ rule: 'settle-token', path, message }];
  });
}
