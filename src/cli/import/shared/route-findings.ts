import { type FilePlace, lineText } from '../../proxy-files/file-place.ts';
import { approximate, type Finding } from './finding.ts';
import { type Answer, isCertain, isLimited, type LimitedRoute } from './limited-route.ts';

/** Says where several routes may answer the requests of a policy. */
export function routeFindings<R extends LimitedRoute>(
  answers: readonly Answer<R>[],
  routes: readonly R[],
): Finding[] {
  const narrower = routes.filter(({ isNarrower }) => isNarrower);
  const others = new Map(narrower.map((each) => [each, new Set<R>()]));
  for (const { found, limited } of answers) {
    const certain = found.filter(isCertain);
    for (const route of found) {
      const beside = isCertain(route) ? certain.slice(0, certain.indexOf(route)) : limited;
      const more = beside.filter(({ owner }) => owner !== route.owner);
      others.set(route, new Set([...(others.get(route) ?? []), ...more]));
    }
  }
  return [...others].flatMap(([route, more]) => findingsOf(route, [...more]));
}

const UNKNOWN = 'its limits are not carried over, or not in this file.';

function findingsOf(route: LimitedRoute, others: readonly LimitedRoute[]): Finding[] {
  const { title, place, condition, template, isNarrower } = route;
  const names = [...new Set(others.map((each) => `${each.title} (${lineText(each.place)})`))];
  const shown = `${names.slice(0, 4).join(', ')}${names.length > 4 ? ' and more' : ''}`;
  const findings: Finding[] = [];
  const add = (why: string) => findings.push(approximate(place, title, why));
  if (route.isLeftOut === true) {
    if (names.length > 0) add(`${UNKNOWN} Requests of ${template} have the limits of ${shown}.`);
  } else if (condition !== undefined) {
    const unlike = `a policy file cannot have ${condition}.`;
    if (isLimited(route) && names.length === 0)
      add(`${unlike} The policy applies to requests whether they match or not.`);
    else if (isLimited(route))
      add(
        `${unlike} The policy applies to requests whether they match or not, and has the limits of ${shown}, too.`,
      );
    else if (names.length > 0)
      add(
        `${unlike} Requests of ${template} have the limits of ${shown}, whether they match or not. To let clients pass, list them in "exempt".`,
      );
  } else if (names.length > 0) {
    add(
      `of a request of ${template}, headgate cannot see whether this or ${shown} answers it, so the limits of both apply.`,
    );
  }
  if (isNarrower === true && isLimited(route))
    add(
      `the expression also matches paths that a policy file cannot name. The policy is for ${template}.`,
    );
  return findings;
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
