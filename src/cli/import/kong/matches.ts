import { approximate, type Finding, leftOut } from '../shared/finding.ts';
import { templatesOf } from '../shared/path-regex.ts';
import { ANY_PATH, hostOf, literalPath, pathsBelow } from '../shared/paths.ts';
import type { Route, RoutePath } from './entities.ts';

export interface RouteMatches {
  readonly hosts: readonly (string | undefined)[];
  readonly templates: readonly string[];
  readonly methods: readonly string[] | undefined;
  readonly findings: readonly Finding[];
}

export function matchesOf({ name, hosts, paths, methods, others, place }: Route): RouteMatches {
  const findings: Finding[] = [];
  const named = hosts.flatMap((host): string[] => {
    const known = hostOf(host);
    if (known !== undefined) return [known];
    findings.push(
      leftOut(
        place,
        `host ${host} of route ${name}`,
        'a policy file has hosts such as api.example.com and *.example.com. Write policies for the hosts that you mean.',
      ),
    );
    return [];
  });
  const templates = paths.flatMap((path) => {
    const found = templatesOfPath(path);
    if (found !== undefined) return found;
    findings.push(
      leftOut(
        path.place,
        `path ${path.text} of route ${name}`,
        'a policy file has paths such as /login, /users/:id and /files/*. Write policies for the paths that you mean.',
      ),
    );
    return [];
  });
  if (others.length > 0) {
    findings.push(
      approximate(
        place,
        `route ${name}`,
        `a policy file cannot have its ${others.join(' and ')}. The policy applies to requests whether they match or not.`,
      ),
    );
  }
  const upper = methods.map((method) => method.toUpperCase());
  return {
    hosts: hosts.length === 0 ? [undefined] : [...new Set(named)],
    templates: paths.length === 0 ? [ANY_PATH] : [...new Set(templates)],
    methods: upper.length === 0 ? undefined : upper,
    findings,
  };
}

/** Kong's regular expressions match from the start of the path. */
function templatesOfPath({ text, kind }: RoutePath): string[] | undefined {
  if (kind === 'regex') return templatesOf(text.startsWith('^') ? text : `^${text}`);
  const template = kind === 'exact' ? literalPath(text) : pathsBelow(text);
  return template === undefined ? undefined : [template];
}
