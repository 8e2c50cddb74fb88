/** Compares the ways to each upstream: if one is checked, one that is not goes round the check. */
import { type DoctorFinding, found } from '../catalog.ts';

/** How a proxy's file leads requests to an application. */
export interface Way {
  /** The line that leads there: `location /app`. */
  readonly what: string;
  /** `nginx.conf:12` */
  readonly place: string;
  /** The application, as the file's reader names it: `127.0.0.1:3000`. One application has one name. */
  readonly upstream: string;
  readonly isChecked: boolean;
}

export function uncheckedWays(ways: readonly Way[]): DoctorFinding[] {
  const checked = new Map<string, Way>();
  for (const way of ways) if (way.isChecked) checked.set(way.upstream, way);
  const named = new Set<string>();
  return ways.flatMap(({ what, place, upstream, isChecked }) => {
    const other = checked.get(upstream);
    if (isChecked || other === undefined || named.has(place)) return [];
    named.add(place);
    const problem = `${what} passes requests to ${upstream} without asking headgate; ${other.what} (${other.place}) asks it for the same application`;
    return [found('upstream-unchecked', place, problem)];
  });
}
