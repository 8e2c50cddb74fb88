/** Compares the ways to each application: if one is checked, one that is not goes round the check. */
import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import { found } from './catalog.ts';

/** How a proxy's file leads requests to an application. */
export interface Way {
  /** The line that leads there: `location /app`. */
  readonly what: string;
  /** `nginx.conf:12` */
  readonly place: string;
  /** Addresses: `127.0.0.1:3000`. Ways with a common server lead to one application. Empty: the file does not say. */
  readonly servers: readonly string[];
  readonly isChecked: boolean;
}

export function uncheckedWays(ways: readonly Way[]): Diagnostic[] {
  const names = namesOfApplications(ways);
  const nameOf = ({ servers: [first] }: Way) => first && names.get(first);
  const checked = new Map<string | undefined, Way>();
  for (const way of ways) if (way.isChecked) checked.set(nameOf(way), way);
  checked.delete(undefined);
  const named = new Set<string>();
  return ways.flatMap((way) => {
    const { what, place, isChecked } = way;
    const other = checked.get(nameOf(way));
    if (isChecked || other === undefined || named.has(place)) return [];
    named.add(place);
    const problem = `${what} passes requests to ${nameOf(way)} without asking headgate; ${other.what} (${other.place}) asks it for the same application`;
    return [found('upstream-unchecked', place, problem)];
  });
}

/** By address. */
function namesOfApplications(ways: readonly Way[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { servers } of ways) {
    const known = new Set(servers.flatMap((each) => names.get(each) ?? []));
    const [name = servers[0] ?? ''] = known;
    for (const [each, other] of names) if (known.has(other)) names.set(each, name);
    for (const each of servers) names.set(each, name);
  }
  return names;
}
