import type { FilePlace } from '../../proxy-files/file-place.ts';
import { approximate, type Finding, leftOut } from './finding.ts';
import type { ImportedLimit } from './imported-limit.ts';
import { largestBurst, paceOf, rateText, windowProblem } from './rates.ts';

/** The limit with numbers that a policy file can have. Undefined, with a finding, if there are none. */
export function withinBounds(
  written: ImportedLimit,
  place: FilePlace,
  findings: Finding[],
): ImportedLimit | undefined {
  const { limit: count, windowMs } = written.rate;
  // A bucket of a large rate can have a shorter window.
  const pace = written.burst === undefined ? undefined : paceOf(count, windowMs);
  const limit = { ...written, rate: pace ?? written.rate };
  const problem = windowProblem(limit.rate);
  if (problem !== undefined) {
    const what = `${count} in ${windowMs % 1_000 === 0 ? `${windowMs / 1_000} s` : `${windowMs} ms`}`;
    findings.push(leftOut(place, what, `${problem}. Add a limit that fits by hand.`));
    return undefined;
  }
  if (limit.burst === undefined) return limit;
  const burst = Math.min(limit.burst, largestBurst(limit.rate));
  if (burst < limit.burst) {
    const why = `the largest burst of headgate at ${rateText(limit.rate)} is ${burst}: a bucket must be full again within 31 days.`;
    findings.push(approximate(place, `burst ${limit.burst}`, why));
  }
  return { ...limit, burst };
}
