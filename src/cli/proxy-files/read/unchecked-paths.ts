/** Finds what the proxy passes on without a check: paths that a policy limits, and other ways to a checked application. */
import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import type { ValidFile } from '../../../gateway/config/policy-file/valid-file.ts';
import { found } from './catalog.ts';
import { type Hosts, pathPolicies } from './path-policies.ts';

export interface Choice {
  readonly what: string;
  readonly place: string;
  readonly isUnchecked: boolean;
}

export interface Site {
  readonly hosts: Hosts;
  readonly paths: readonly string[];
  /** Returns undefined if the file does not tell. */
  readonly choose: (path: string) => Choice | undefined;
}

/** A rule may end with a star. */
export function fitsRule(path: string, rule: string): boolean {
  return rule.endsWith('*') ? path.startsWith(rule.slice(0, -1)) : path === rule;
}

export function uncheckedPaths(sites: readonly Site[], file: ValidFile): Diagnostic[] {
  return sites.flatMap(({ hosts, paths, choose }) => {
    const policies = pathPolicies(file, hosts);
    const unchecked = new Map<string, { choice: Choice; names: Set<string> }>();
    const add = (choice: Choice, name: string) => {
      const known = unchecked.get(choice.place) ?? { choice, names: new Set() };
      known.names.add(name);
      unchecked.set(choice.place, known);
    };
    for (const { entry, paths: samples } of policies.named) {
      const choices = samples.map(choose);
      const [first] = choices;
      if (first !== undefined && choices.every((each) => each?.isUnchecked)) add(first, entry.name);
    }
    for (const path of paths.flatMap((each) => [each, `${each.replace(/\/$/, '')}/a-sample`])) {
      const choice = choose(path);
      if (choice?.isUnchecked)
        for (const { entry } of policies.policiesFor(path)) add(choice, entry.name);
    }
    return [...unchecked.values()].map(({ choice, names }) => findingOf(choice, [...names]));
  });
}

function findingOf({ what, place }: Choice, policies: readonly string[]): Diagnostic {
  const names = policies.join(', ');
  const verb = policies.length === 1 ? `policy ${names} limits` : `policies ${names} limit`;
  const problem = `${what} passes requests on without asking headgate, and ${verb} such requests`;
  return found('limited-path-unchecked', place, problem);
}

export interface Route {
  readonly what: string;
  readonly place: string;
  /** Routes with a common address lead to one application. */
  readonly servers: readonly string[];
  readonly isChecked: boolean;
}

/** If one route to an application is checked, a route that is not goes round the check. */
export function uncheckedRoutes(routes: readonly Route[]): Diagnostic[] {
  const names = namesOfApplications(routes);
  const nameOf = ({ servers: [first] }: Route) => first && names.get(first);
  const checked = new Map<string | undefined, Route>();
  for (const route of routes) if (route.isChecked) checked.set(nameOf(route), route);
  checked.delete(undefined);
  const named = new Set<string>();
  return routes.flatMap((route) => {
    const { what, place, isChecked } = route;
    const other = checked.get(nameOf(route));
    if (isChecked || other === undefined || named.has(place)) return [];
    named.add(place);
    const problem = `${what} passes requests to ${nameOf(route)} without asking headgate; ${other.what} (${other.place}) asks it for the same application`;
    return [found('upstream-unchecked', place, problem)];
  });
}

function namesOfApplications(routes: readonly Route[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { servers } of routes) {
    const known = new Set(servers.flatMap((each) => names.get(each) ?? []));
    const [name = servers[0] ?? ''] = known;
    for (const [each, other] of names) if (known.has(other)) names.set(each, name);
    for (const each of servers) names.set(each, name);
  }
  return names;
}
