import { pathRoutesOf, type WrittenRoute } from '../../../gateway/config/policy-file/match.ts';
import type { PolicyEntry, ValidFile } from '../../../gateway/config/policy-file/valid-file.ts';
import { isHostWithin } from '../../../gateway/core/matching/host.ts';
import { compileMatcher, type Matcher, matchable } from '../../../gateway/core/matching/matcher.ts';
import { canonicalPath } from '../../../gateway/core/path/path.ts';

/** Undefined if there are others, or the file of the proxy does not name them. */
export type Hosts = readonly string[] | undefined;

export type PathPolicies = ReturnType<typeof pathPolicies>;

/** A policy that applies to a request, and the path by which it matches, as the file has it. */
export interface PathPolicy {
  readonly entry: PolicyEntry;
  readonly path: string;
}

const ANY_HOST = 'a-sample.invalid';
/** Routes of proxies often tell numbers from words. */
const FILLINGS = ['a-sample', '1'];

/** Returns undefined unless all names are of hosts or domains. */
export function hostsOf(names: readonly string[]): Hosts {
  const isKnown = names.length > 0 && names.every((name) => /^[a-z0-9*][a-z0-9.-]*$/i.test(name));
  return isKnown ? names.map((name) => name.toLowerCase()) : undefined;
}

export function pathPolicies({ entries, caseSensitive }: ValidFile, hosts: Hosts) {
  const limiting = entries.filter((entry) => counts(entry) && mayConcern(entry, hosts));
  // Policies for MCP calls share a path.
  const routes = (isBeside: boolean) =>
    limiting
      .filter(({ always, match }) => (always || match?.mcp !== undefined) === isBeside)
      .flatMap((entry) =>
        pathRoutesOf(entry, caseSensitive)
          .filter(namesPath)
          .map(({ match, written = '' }) => ({ ...match, value: { entry, path: written } })),
      );
  const matchers: Matcher<PathPolicy>[] = [
    compileMatcher(routes(false)),
    ...routes(true).map((route) => compileMatcher([route])),
  ];
  const methods = new Set(['GET', ...limiting.flatMap(({ match }) => match?.method ?? [])]);
  const known = new Map<string, readonly PathPolicy[]>();
  const find = (target: string) => {
    const { path } = canonicalPath(target, caseSensitive);
    const requests = (hosts ?? [ANY_HOST]).flatMap((host) =>
      [...methods].map((method) => matchable(method, host, path)),
    );
    return matchers.flatMap((matcher) => requests.flatMap((request) => matcher(request) ?? []));
  };
  return {
    named: limiting.map((entry) => ({
      entry,
      paths: [...new Set(pathRoutesOf(entry, true).filter(namesPath).flatMap(samplesOf))],
    })),
    policiesFor(path: string) {
      const found = known.get(path) ?? find(path);
      known.set(path, found);
      return found;
    },
  };
}

function counts({ mode, limits, plans }: PolicyEntry): boolean {
  const hasLimits = limits.length > 0 || Object.values(plans).some((plan) => plan.length > 0);
  return mode !== 'off' && hasLimits;
}

/** Policies for everything also concern paths that are meant to stay without limits, such as those of static files. */
function namesPath({ written = '' }: WrittenRoute): boolean {
  return /^\/(?![:*])/.test(written);
}

function mayConcern({ match }: PolicyEntry, hosts: Hosts): boolean {
  const host = match?.host;
  return host === undefined || (hosts?.every((each) => isHostWithin(each, host)) ?? false);
}

function samplesOf({ match: { path = '/' } }: WrittenRoute): string[] {
  return FILLINGS.map((each) => path.replaceAll(/\/(:[^/]*|\*$)/g, `/${each}`));
}
