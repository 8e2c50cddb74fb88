/** Puts imported policies right for a policy file: unique names, no ties, no repeated limits, numbers within bounds. */
import { checkMethodName } from '../../../gateway/config/policy-file/match.ts';
import { literalPath } from '../../../gateway/config/policy-file/path-template.ts';
import { routeKeys } from '../../../gateway/core/matching/matcher.ts';
import type { FilePlace } from '../../proxy-files/file-place.ts';
import { withinBounds } from './bounds.ts';
import { type Finding, findingLine, leftOut, wrongSource } from './finding.ts';
import type {
  ImportedFile,
  ImportedLimit,
  ImportedMatch,
  ImportedPolicy,
  ImportedRules,
} from './imported-limit.ts';
import { PolicyNames } from './names.ts';
import { multiplied, rateText, windowProblem } from './rates.ts';

const TOO_MANY =
  'the policy has too many limits with this window. Merge them in the source, or add the limit by hand.';

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
    const settled =
      bounded &&
      apart(bounded, kept, () => findings.push(leftOut(place, rateText(bounded.rate), TOO_MANY)));
    if (settled !== undefined) kept.push(settled);
  }
  const needed = kept.filter((each) => !kept.some((other) => undercuts(other, each)));
  if (needed.length > MAX_LIMITS) {
    const why = `a policy has at most ${MAX_LIMITS} limits, and this one would have ${needed.length}. The first ${MAX_LIMITS} are in the file.`;
    findings.push(leftOut(place, `${needed.length} limits`, why));
  }
  if (needed.length > 0 || rules.mode === 'off')
    return { ...rules, limits: needed.slice(0, MAX_LIMITS) };
  return { ...rules, limits: [], mode: 'off' };
}

/** Whether a shorter window always denies first. Several policies of the source may be one here. */
function undercuts(short: ImportedLimit, long: ImportedLimit): boolean {
  if (short === long || short.per !== long.per || !/^(ip|global)$/.test(long.per)) return false;
  if (short.burst !== undefined || long.burst !== undefined) return false;
  const windows = Math.ceil(long.rate.windowMs / short.rate.windowMs);
  return short.rate.limit * windows <= long.rate.limit;
}

/**
 * Two limits of a policy cannot have the same share, window and algorithm. Of two windows, the lower limit says it all.
 * Of two buckets, one gets a longer window at the same pace.
 */
function apart(
  limit: ImportedLimit,
  kept: ImportedLimit[],
  leave: () => void,
): ImportedLimit | undefined {
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
  if ((other.burst ?? 0) <= limit.burst && other.rate.limit <= limit.rate.limit) return undefined;
  for (let factor = 2; factor <= MAX_LIMITS + 1; factor++) {
    const rate = multiplied(limit.rate, factor);
    if (clash(rate) === -1 && windowProblem(rate) === undefined) return { ...limit, rate };
  }
  leave();
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
