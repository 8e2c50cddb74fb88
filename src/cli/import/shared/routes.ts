/** Makes policies out of routes: one for each route whose limits differ from those of the routes around it. */
import { isHostWithin } from '../../../gateway/core/matching/host.ts';
import type { FilePlace } from '../../proxy-files/file-place.ts';
import { approximate, type Finding, wrongSource } from './finding.ts';
import type { ImportedPolicy, ImportedRules } from './imported-limit.ts';
import { covers, narrowest } from './paths.ts';

export interface LimitedRoute {
  /** What counts its requests together; empty if they are not limited. */
  readonly owner: string;
  readonly name: string;
  readonly host: string | undefined;
  readonly template: string;
  readonly methods?: readonly string[] | undefined;
  readonly rules: ImportedRules;
  /** Where one request has several routes, the heaviest one wins. Default: the one with the narrowest host. */
  readonly weight?: number;
  readonly place: FilePlace;
}

export interface RoutePolicies {
  readonly policies: readonly ImportedPolicy[];
  /** How many policies count by themselves what the owner counted together. */
  readonly counts: ReadonlyMap<string, number>;
}

/** Each is compared with all others. */
const MAX_ROUTES = 2_000;

/** Throws an ImportError if there are far more routes than people write. */
export function refuseTooMany(count: number, file: string): void {
  if (count <= MAX_ROUTES) return;
  const reason = `has ${count} routes, and ${MAX_ROUTES} can be imported at a time: split the file`;
  throw wrongSource(file, reason);
}

export function policiesOfRoutes(routes: readonly LimitedRoute[], fallback = ''): RoutePolicies {
  const first = routes[0];
  if (first !== undefined) refuseTooMany(routes.length, first.place.file);
  const counts = new Map<string, number>();
  // Without a policy, the one around a route applies.
  const kept = routes.filter((each) => (around(each, routes)?.owner ?? fallback) !== each.owner);
  const all = [...kept, ...forNarrowerHosts(kept, routes)];
  const policies = all.map((route): ImportedPolicy => {
    counts.set(route.owner, (counts.get(route.owner) ?? 0) + 1);
    const { host, template: path, methods, rules, place } = route;
    const name = rules.mode === 'off' ? `unlimited-${route.name}` : route.name;
    return { ...rules, name, match: { methods, host, path }, place };
  });
  return { policies, counts };
}

/**
 * In headgate a path counts before a host: `/api/*` of every host wins over `/*` of one. Where the other limiter chooses
 * the route of the host, that host needs separate policies for such paths.
 */
function forNarrowerHosts(
  kept: readonly LimitedRoute[],
  routes: readonly LimitedRoute[],
): LimitedRoute[] {
  const added: LimitedRoute[] = [];
  for (const host of new Set(routes.flatMap((each) => each.host ?? []))) {
    const own = routes.filter((each) => each.host === host);
    const templates = new Set(kept.flatMap((each) => (each.host === host ? each.template : [])));
    for (const { host: wider, template, owner, weight = 0 } of kept) {
      if (wider === host || !hasHost(wider, host) || templates.has(template)) continue;
      const nearest =
        around({ ...EVERY, host, template }, own) ?? own.find((each) => each.template === template);
      if (nearest === undefined || nearest.owner === owner) continue;
      if ((nearest.weight ?? weight) < weight) continue;
      templates.add(template);
      added.push({ ...nearest, template });
      refuseTooMany(added.length, nearest.place.file);
    }
  }
  return added;
}

const EVERY = {
  owner: '',
  name: '',
  rules: { limits: [], comments: [] },
  place: { file: '', line: 1, column: 1 },
};

/** The most specific of the other routes that match all requests of this one. */
function around(inner: LimitedRoute, routes: readonly LimitedRoute[]): LimitedRoute | undefined {
  return narrowest(
    routes.filter((each) => isWider(each, inner)),
    isWider,
  );
}

export function notLimited(where: string): ImportedRules {
  return { limits: [], mode: 'off', comments: [`${where}: not limited`] };
}

/** `together` says what the limiter counts with one counter: `Kong counts all requests of this plugin`. */
export function splitFinding(
  { place, what, together }: { place: FilePlace; what: string; together: string },
  policies: number,
): Finding[] {
  if (policies < 2) return [];
  const why = `${together} together, and headgate counts each of its ${policies} policies by itself. A client gets the limit in each of them.`;
  return [approximate(place, what, why)];
}

/** Routes that win over longer paths, because they are heavier. headgate prefers the longer path. */
export function orderFindings(routes: readonly LimitedRoute[], limiter: string): Finding[] {
  return routes.flatMap((light): Finding[] => {
    const { owner, template, name, place, weight = 0 } = light;
    const heavy = routes.find(
      (each) =>
        each.owner !== owner &&
        (each.weight ?? 0) > weight &&
        each.template !== template &&
        covers(each.template, template) &&
        (hasHost(each.host, light.host) || hasHost(light.host, each.host)),
    );
    if (heavy === undefined) return [];
    const why = `of requests that match both, ${limiter} gives those to ${heavy.name} (line ${heavy.place.line}) that match all of its conditions, and headgate applies the policy with the more specific path. Check which limits requests of ${template} should have.`;
    return [approximate(place, name, why)];
  });
}

function isWider(outer: LimitedRoute, inner: LimitedRoute): boolean {
  if (!hasHost(outer.host, inner.host) || !hasMethods(outer.methods, inner.methods)) return false;
  if (!covers(outer.template, inner.template)) return false;
  const isEqual = hasHost(inner.host, outer.host) && covers(inner.template, outer.template);
  return !isEqual || !hasMethods(inner.methods, outer.methods);
}

/** Whether every request for the inner host is one for the outer. Undefined is every host. */
export function hasHost(outer: string | undefined, inner: string | undefined): boolean {
  return outer === undefined || (inner !== undefined && isHostWithin(inner, outer));
}

type Methods = readonly string[] | undefined;

function hasMethods(outer: Methods, inner: Methods): boolean {
  if (outer === undefined) return true;
  return inner?.every((method) => outer.includes(method)) === true;
}
