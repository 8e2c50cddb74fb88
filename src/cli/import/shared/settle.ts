/** Puts imported policies right for a policy file: unique names, no ties, no repeated limits, numbers within bounds. */
import { checkMethodName } from '../../../gateway/config/policy-file/match.ts';
import { literalPath } from '../../../gateway/config/policy-file/path-template.ts';
import { routeKeys } from '../../../gateway/core/matching/matcher.ts';
import type { FilePlace } from '../../proxy-files/file-place.ts';
import { approximate, type Finding, findingLine, leftOut, wrongSource } from './finding.ts';
import type {
  ImportedFile,
  ImportedLimit,
  ImportedMatch,
  ImportedPolicy,
  ImportedRules,
} from './imported-limit.ts';
import { PolicyNames } from './names.ts';
import { largestBurst, multiplied, paceOf, rateText, windowProblem } from './rates.ts';

/** `headgate check` reads a file of this size in a second. */
const MAX_POLICIES = 2_000;
const MAX_LIMITS = 16;

/** Returns the file with the names of the policy file, and with its findings in order. */
export function settle(file: ImportedFile, sourceName: string): ImportedFile {
  if (file.policies.length > MAX_POLICIES) {
    const reason = `has ${file.policies.length} places with limits, and ${MAX_POLICIES} can be imported at a time: split the file`;
    throw wrongSource(sourceName, reason);
  }
  const findings = [...file.findings];
  const names = new PolicyNames();
  const routes = new Map<string, string>();
  const policies = file.policies.flatMap((policy) => {
    const match = untiedMatch(policy, routes, findings);
    if (match === undefined) return [];
    const name = names.nameFor(policy.name);
    for (const key of keysOf(match)) routes.set(key, name);
    return [{ ...policy, ...settledRules(policy, policy.place, findings), name, match }];
  });
  // Findings about the default name the source as a whole.
  const start = { file: sourceName, line: 1, column: 1 };
  const fallback = file.default && settledRules(file.default, start, findings);
  return { ...file, default: fallback, policies, findings: inOrder(findings) };
}

function untiedMatch(
  { match, name, place }: ImportedPolicy,
  taken: ReadonlyMap<string, string>,
  findings: Finding[],
): ImportedMatch | undefined {
  const isEmpty = Object.values(match).every((each) => each === undefined);
  const route = isEmpty ? { path: '/*' } : match;
  const methods = match.methods && [...new Set(match.methods.filter(isMethod))];
  const otherFor = (some: readonly string[] | undefined) =>
    [...keysOf({ ...route, methods: some })].find((key) => taken.has(key));
  const other = otherFor(methods);
  if (other !== undefined) {
    const why = `policy ${taken.get(other)} has the same method, host and path, and a policy file can have only one such policy. Compare both places, and put the limits that you need into that policy.`;
    findings.push(leftOut(place, name, why));
  }
  const free = methods?.filter((method) => otherFor([method]) === undefined);
  const isFree = free === undefined ? other === undefined : free.length > 0;
  return isFree ? { ...route, methods: free } : undefined;
}

function keysOf(match: ImportedMatch): Set<string> {
  const path = match.path === undefined ? undefined : literalPath(match.path).toLowerCase();
  return routeKeys({ ...match, path });
}

function isMethod(method: string): boolean {
  try {
    return checkMethodName(method) === method;
  } catch {
    return false;
  }
}

function settledRules<R extends ImportedRules>(rules: R, place: FilePlace, findings: Finding[]): R {
  const kept: ImportedLimit[] = [];
  for (const limit of rules.limits) {
    const bounded = withinBounds(limit, place, findings);
    const settled = bounded && apart(bounded, kept);
    if (settled !== undefined) kept.push(settled);
  }
  if (kept.length > MAX_LIMITS) {
    const why = `a policy has at most ${MAX_LIMITS} limits, and this one would have ${kept.length}. The first ${MAX_LIMITS} are in the file.`;
    findings.push(leftOut(place, `${kept.length} limits`, why));
  }
  if (kept.length > 0 || rules.mode === 'off')
    return { ...rules, limits: kept.slice(0, MAX_LIMITS) };
  return { ...rules, limits: [], mode: 'off' };
}

function withinBounds(
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

/**
 * Two limits of a policy cannot have the same share, window and algorithm. Of two windows, the lower limit says it all.
 * Of two buckets, one gets a longer window at the same pace.
 */
function apart(limit: ImportedLimit, kept: ImportedLimit[]): ImportedLimit | undefined {
  const clash = (rate: ImportedLimit['rate']) =>
    kept.findIndex(
      (each) =>
        each.per === limit.per &&
        each.rate.windowMs === rate.windowMs &&
        (each.burst === undefined) === (limit.burst === undefined),
    );
  const at = clash(limit.rate);
  const other = kept[at];
  if (other === undefined) return limit;
  if (limit.burst === undefined) {
    if (limit.rate.limit < other.rate.limit) kept[at] = limit;
    return undefined;
  }
  if (other.burst === limit.burst && other.rate.limit === limit.rate.limit) return undefined;
  for (let factor = 2; factor <= MAX_LIMITS + 1; factor++) {
    const rate = multiplied(limit.rate, factor);
    if (clash(rate) === -1 && windowProblem(rate) === undefined) return { ...limit, rate };
  }
  return undefined;
}

/** Sorts by file, in the order of the findings, then by line, and leaves out repetitions. */
function inOrder(findings: readonly Finding[]): Finding[] {
  const files = [...new Set(findings.map(({ file }) => file))];
  const once = new Map(findings.map((finding) => [findingLine(finding), finding]));
  return [...once.values()].sort(
    (a, b) =>
      files.indexOf(a.file) - files.indexOf(b.file) ||
      a.place.line - b.place.line ||
      a.place.column - b.place.column,
  );
}
