/** If one route to an application is checked, a route that is not goes round the check. */
import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import { found } from './catalog.ts';

export interface Route {
  readonly what: string;
  readonly place: string;
  /** Routes with a common address lead to one application. */
  readonly servers: readonly string[];
  readonly isChecked: boolean;
}

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
