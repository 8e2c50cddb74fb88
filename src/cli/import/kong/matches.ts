import { approximate, type Finding, leftOut } from '../shared/finding.ts';
import { templatesOfPath } from '../shared/path-regex.ts';
import { ANY_PATH, hostOf } from '../shared/paths.ts';
import type { Route } from './entities.ts';

export interface RouteMatches {
  readonly hosts: readonly (string | undefined)[];
  readonly templates: readonly string[];
  readonly methods: readonly string[] | undefined;
  readonly findings: readonly Finding[];
}

const HOSTS =
  'a policy file has hosts such as api.example.com and *.example.com. Write policies for the hosts that you mean.';
const PATHS =
  'a policy file has paths such as /login, /users/:id and /files/*. Write policies for the paths that you mean.';

export function matchesOf({ name, hosts, paths, methods, others, place }: Route): RouteMatches {
  const findings: Finding[] = [];
  const named = hosts.flatMap((host): string[] => {
    const known = hostOf(host);
    if (known !== undefined) return [known];
    findings.push(leftOut(place, `host ${host} of route ${name}`, HOSTS));
    return [];
  });
  const templates = paths.flatMap((path) => {
    const found = templatesOfPath(path.text, path.kind);
    if (found !== undefined) return found;
    findings.push(leftOut(path.place, `path ${path.text} of route ${name}`, PATHS));
    return [];
  });
  if (others.length > 0) {
    const why = `a policy file cannot have its ${others.join(' and ')}. The policy applies to requests whether they match or not.`;
    findings.push(approximate(place, `route ${name}`, why));
  }
  const upper = methods.map((method) => method.toUpperCase());
  return {
    hosts: hosts.length === 0 ? [undefined] : [...new Set(named)],
    templates: paths.length === 0 ? [ANY_PATH] : [...new Set(templates)],
    methods: upper.length === 0 ? undefined : upper,
    findings,
  };
}
