/** Makes policies out of routes: one for each set of requests whose limits differ from those around it. */
import { routeOrder } from '../../../gateway/core/matching/matcher.ts';
import { withinBounds } from './bounds.ts';
import { type Finding, wrongSource } from './finding.ts';
import type { ImportedPolicy, ImportedRules } from './imported-limit.ts';
import { type Answer, isCertain, isLimited, type LimitedRoute } from './limited-route.ts';
import { contains, narrowness, type RequestSet, withOverlaps } from './request-set.ts';
import { routeFindings } from './route-findings.ts';

/** The routes that match all requests of a set, the one that answers first. Of some, nobody can know which comes first. */
type RouteOrder<R> = (matching: readonly R[], set: RequestSet) => readonly (readonly R[])[];

export interface RoutesOptions<R> {
  /** The owner of requests that no route matches. */
  readonly fallback?: string;
  readonly order?: RouteOrder<R>;
}

export interface RoutePolicies<R> {
  readonly made: readonly { readonly policy: ImportedPolicy; readonly answer: Answer<R> }[];
  readonly findings: readonly Finding[];
}

const MAX_ROUTES = 2_000;

/** Throws an ImportError if there are far more routes than people write. */
export function refuseTooMany(count: number, file: string): void {
  if (count <= MAX_ROUTES) return;
  const reason = `has ${count} routes, and ${MAX_ROUTES} can be imported at a time: split the file`;
  throw wrongSource(file, reason);
}

/**
 * headgate chooses a policy by path, then host, then method, and other limiters choose otherwise. Every overlap of routes
 * is a separate set, so for each set it is known which routes may answer. Their limits apply together.
 */
export function policiesOfRoutes<R extends LimitedRoute>(
  written: readonly R[],
  options: RoutesOptions<R> = {},
): RoutePolicies<R> {
  const file = written[0]?.place.file ?? '';
  refuseTooMany(written.length, file);
  const findings: Finding[] = [];
  const routes = written.map((each) => bounded(each, findings));
  const sets = withOverlaps(
    routes.map(({ host, template, methods }) => ({ host, template, methods })),
    (count) => refuseTooMany(count, file),
  );
  const answers = sets.map((set) => answerOf(set, routes, options));
  const kept = new Set(withoutRepeated(answers, options.fallback ?? ''));
  return {
    made: answers
      .filter((each) => kept.has(each))
      .map((answer) => ({ policy: policyOf(answer), answer })),
    findings: [...findings, ...routeFindings(answers, routes)],
  };
}

function bounded<R extends LimitedRoute>(route: R, findings: Finding[]): R {
  const { rules, place } = route;
  const limits = rules.limits.flatMap((each) => withinBounds(each, place, findings) ?? []);
  if (limits.length > 0 || rules.limits.length === 0)
    return { ...route, rules: { ...rules, limits } };
  return { ...route, rules: { ...rules, limits }, owner: '', isLeftOut: true };
}

function answerOf<R extends LimitedRoute>(
  set: RequestSet,
  routes: readonly R[],
  { order = byRank }: RoutesOptions<R>,
): Answer<R> {
  const found: R[] = [];
  const ended = new Set<string>();
  for (const tier of order(
    routes.filter((each) => contains(each, set)),
    set,
  )) {
    const open = tier.filter(({ entry = '' }) => !ended.has(entry));
    found.push(...open);
    for (const { entry = '' } of open.filter(isCertain)) ended.add(entry);
  }
  const byOwner = Map.groupBy(found, ({ owner }) => owner);
  const limited = [...byOwner.values()].flatMap((all) => all.find(isLimited) ?? []);
  const owners = new Set(limited.flatMap(({ owner }) => owner.split('\n')));
  const unlimited = ended.size > 0 ? '' : undefined;
  const owner = limited.length > 0 ? [...owners].sort().join('\n') : unlimited;
  return { set, found, limited, owner };
}

function byRank<R extends LimitedRoute>(matching: readonly R[]): R[][] {
  const rankOf = ({ rank = [] }: R) => JSON.stringify(rank);
  const tiers = [...Map.groupBy(matching, rankOf).values()];
  const compared = ([a]: R[], [b]: R[]) => {
    const ranks = b?.rank ?? [];
    return ranks.map((number, i) => number - (a?.rank?.[i] ?? 0)).find((each) => each !== 0) ?? 0;
  };
  return tiers.sort(compared);
}

/** Without a policy, the one around it applies, so a set with the same owner needs none. */
function withoutRepeated<R extends LimitedRoute>(
  answers: readonly Answer<R>[],
  fallback: string,
): Answer<R>[] {
  const kept: { readonly answer: Answer<R>; readonly order: string }[] = [];
  const fromWide = answers
    .map((answer) => ({ answer, size: narrowness(answer.set) }))
    .sort((a, b) => a.size - b.size);
  for (const { answer } of fromWide) {
    const { set } = answer;
    let around: (typeof kept)[number] | undefined;
    for (const each of kept) {
      if (around !== undefined && each.order >= around.order) continue;
      if (contains(each.answer.set, set)) around = each;
    }
    if (answer.owner === undefined || answer.owner === (around?.answer.owner ?? fallback)) continue;
    kept.push({ answer, order: routeOrder({ ...set, path: set.template }) });
  }
  return kept.map(({ answer }) => answer);
}

function policyOf<R extends LimitedRoute>({ set, found, limited }: Answer<R>): ImportedPolicy {
  const first = limited[0] ?? found.find(isCertain);
  if (first === undefined) throw new Error('a set of requests comes from a route');
  const { host, template: path, methods } = set;
  const name = limited.length > 0 ? first.name : `unlimited-${first.name}`;
  return { ...together(limited, first), name, match: { methods, host, path }, place: first.place };
}

/** A limit that denies nobody is left out beside one that denies. */
function together<R extends LimitedRoute>(limited: readonly R[], first: R): ImportedRules {
  const [, second] = limited;
  if (second === undefined) return first.rules;
  const enforced = limited.filter(({ rules }) => rules.mode === undefined);
  const rules = (enforced.length > 0 ? enforced : limited).map((each) => each.rules);
  const strict = rules.find(({ onStoreFailure }) => onStoreFailure !== undefined);
  return {
    limits: rules.flatMap(({ limits }) => limits),
    mode: rules[0]?.mode,
    onStoreFailure: strict?.onStoreFailure,
    comments: [...new Set(rules.flatMap(({ comments }) => comments))],
  };
}

export function notLimited(where: string): ImportedRules {
  return { limits: [], mode: 'off', comments: [`${where}: not limited`] };
}

/** How many policies count by themselves what an owner counted together. */
export function policiesByOwner<R>({ made }: RoutePolicies<R>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { answer } of made) {
    for (const owner of (answer.owner ?? '').split('\n'))
      counts.set(owner, (counts.get(owner) ?? 0) + 1);
  }
  return counts;
}
