/** Finds paths that a policy limits and the proxy passes on without a check. */
import type { ValidFile } from '../../config/policy-file/compile.ts';
import type { PolicyEntry } from '../../config/policy-file/policy-schema.ts';
import { routeMatchOf } from '../../config/policy-file/route.ts';
import { isHostWithin } from '../../core/host.ts';
import { compileMatcher, type Matcher, matchable } from '../../core/matcher.ts';
import { canonicalPath } from '../../core/path.ts';
import { type DoctorFinding, found } from '../catalog.ts';

/** What the proxy does with a request. */
export interface Choice {
  /** The lines that decide: `location /search`. */
  readonly what: string;
  /** `nginx.conf:12` */
  readonly place: string;
  /** It passes requests on without a check. */
  readonly isUnchecked: boolean;
}

/** A server or virtual host that checks some requests. */
export interface Site {
  /** Names of hosts. Undefined: it has other names, or the file does not say. */
  readonly hosts: readonly string[] | undefined;
  /** Paths that its lines name. */
  readonly paths: readonly string[];
  /** Undefined if the file does not say. */
  readonly choose: (path: string) => Choice | undefined;
}

/** Undefined unless all are names of hosts or domains. */
export function hostsOf(names: readonly string[]): readonly string[] | undefined {
  const isKnown = names.length > 0 && names.every((name) => /^[a-z0-9*][a-z0-9.-]*$/i.test(name));
  return isKnown ? names.map((name) => name.toLowerCase()) : undefined;
}

/** Whether a path is that of a proxy's rule, or begins with the one before its final star. */
export function fitsRule(path: string, rule: string): boolean {
  return rule.endsWith('*') ? path.startsWith(rule.slice(0, -1)) : path === rule;
}

/** Values for a segment that may be anything. Routes of proxies often tell numbers from words. */
const FILLINGS = ['a-sample', '1'] as const;
const ANY_HOST = 'a-sample.invalid';

export function uncheckedPaths(sites: readonly Site[], file: ValidFile): DoctorFinding[] {
  return sites.flatMap((site) => {
    const limiting = limitingEntries(site, file);
    const named = new Map<string, { choice: Choice; policies: Set<string> }>();
    const add = (choice: Choice, policy: string) => {
      const known = named.get(choice.place) ?? { choice, policies: new Set() };
      known.policies.add(policy);
      named.set(choice.place, known);
    };
    for (const entry of limiting) {
      const choices = samplesOf(routeMatchOf(entry, true).path ?? '/').map(site.choose);
      const [first] = choices;
      if (first !== undefined && choices.every((each) => each?.isUnchecked)) add(first, entry.name);
    }
    const policiesFor = compilePaths(limiting, {
      hosts: site.hosts,
      caseSensitive: file.caseSensitive,
    });
    for (const path of site.paths.flatMap((each) => [each, within(each)])) {
      const choice = site.choose(path);
      if (choice?.isUnchecked) for (const policy of policiesFor(path)) add(choice, policy);
    }
    return [...named.values()].map(({ choice, policies }) => findingOf(choice, [...policies]));
  });
}

/** The policies that limit paths which they name, for hosts of the site. */
export function limitingEntries(site: Pick<Site, 'hosts'>, file: ValidFile): PolicyEntry[] {
  return file.entries.filter((entry) => namesPath(entry) && mayConcern(entry, site));
}

function findingOf({ what, place }: Choice, policies: readonly string[]): DoctorFinding {
  const names = policies.join(', ');
  const verb = policies.length === 1 ? `policy ${names} limits` : `policies ${names} limit`;
  const problem = `${what} passes requests on without asking headgate, and ${verb} such requests`;
  return found('limited-path-unchecked', place, problem);
}

/** The policies that name paths, with samples, and whether one applies to a path. */
export function pathPolicies(
  { entries, caseSensitive }: ValidFile,
  { hosts }: Pick<Site, 'hosts'>,
): {
  readonly named: readonly { readonly name: string; readonly paths: readonly string[] }[];
  appliesTo(path: string, name: string): boolean;
} {
  const limiting = entries.filter((entry) => namesPath(entry) && mayConcern(entry, { hosts }));
  const policiesFor = compilePaths(limiting, { hosts, caseSensitive });
  return {
    named: limiting.map((entry) => ({
      name: entry.name,
      paths: samplesOf(routeMatchOf(entry, true).path ?? '/'),
    })),
    appliesTo: (path, name) => policiesFor(path).includes(name),
  };
}

/** Policies for everything also concern paths that are meant to stay without limits, such as those of static files. */
function namesPath({ match, mode, limits, plans }: PolicyEntry): boolean {
  const counts = limits.length > 0 || Object.values(plans).some((plan) => plan.length > 0);
  return mode !== 'off' && counts && /^\/(?![:*])/.test(match?.path ?? '');
}

function mayConcern({ match }: PolicyEntry, { hosts }: Pick<Site, 'hosts'>): boolean {
  const host = match?.host;
  if (host === undefined) return true;
  return hosts?.every((each) => isHostWithin(each, host)) ?? false;
}

/** Paths that fit the pattern of a policy. */
export function samplesOf(path: string): string[] {
  const filled = FILLINGS.map((each) => path.replaceAll(/\/(:[^/]*|\*$)/g, `/${each}`));
  return [...new Set(filled)];
}

function within(path: string): string {
  return `${path.replace(/\/$/, '')}/${FILLINGS[0]}`;
}

interface Circumstances extends Pick<Site, 'hosts'> {
  readonly caseSensitive: boolean;
}

/** The names of the policies for requests with a path, by any method. */
export function compilePaths(
  entries: readonly PolicyEntry[],
  { hosts = [ANY_HOST], caseSensitive }: Circumstances,
): (target: string) => string[] {
  const routes = (always: boolean) =>
    entries
      .filter((entry) => entry.always === always)
      .map((entry) => ({ ...routeMatchOf(entry, caseSensitive), value: entry.name }));
  const matchers: Matcher<string>[] = [
    compileMatcher(routes(false)),
    ...routes(true).map((route) => compileMatcher([route])),
  ];
  const methods = new Set(['GET', ...entries.flatMap(({ match }) => match?.method ?? [])]);
  return (target) => {
    const { path } = canonicalPath(target, caseSensitive);
    const requests = hosts.flatMap((host) =>
      [...methods].map((method) => matchable(method, host, path)),
    );
    return matchers.flatMap((matcher) => requests.flatMap((request) => matcher(request) ?? []));
  };
}
