import type { FilePlace } from '../../proxy-files/file-place.ts';
import { type Finding, leftOut } from '../shared/finding.ts';
import { onePath, templatesOfPath } from '../shared/path-regex.ts';
import { ANY_PATH, hostOf } from '../shared/paths.ts';
import { countedMethods } from '../shared/request-set.ts';
import type { Route, RoutePath } from './entities.ts';

export interface RouteMatch {
  readonly host: string | undefined;
  readonly template: string;
  readonly methods: readonly string[] | undefined;
  readonly condition: string | undefined;
  readonly isNarrower: boolean;
  readonly rank: readonly number[];
}

const HOSTS =
  'a policy file has hosts such as api.example.com and *.example.com. Write policies for the hosts that you mean.';
const PATHS =
  'a policy file has paths such as /login, /users/:id and /files/*. Write policies for the paths that you mean.';
const METHODS = 'headgate counts HEAD as GET. Write policies for the methods that you mean.';
const NOTHING = 'Write a policy for the requests that you mean.';

interface Named<T> {
  readonly value: T;
  readonly rank: readonly number[];
  /** What a policy file cannot have. */
  readonly condition?: string | undefined;
}

/**
 * The hosts, paths and methods of a route. If it has limits, what a policy file cannot name is left out. Otherwise its
 * place is in the condition: the route takes an unknown part of the requests of another.
 */
export function matchesOf(route: Route, isLimited: boolean) {
  const findings: Finding[] = [];
  const { name, methods: written, others, place } = route;
  const leave = (at: FilePlace, what: string, why: string) => {
    if (isLimited) findings.push(leftOut(at, `${what} of route ${name}`, why));
  };
  const hosts = hostsOf(route, isLimited, leave);
  const paths = pathsOf(route, isLimited, leave);
  const methods = written.length === 0 ? undefined : countedMethods(written);
  if (methods?.length === 0) leave(place, `methods ${written.join(', ')}`, METHODS);
  const isNamed = [route.hosts, route.paths, written].some((list) => list.length > 0);
  if (!isNamed && others.length > 0 && isLimited) {
    findings.push(
      leftOut(place, `route ${name}`, `a policy file cannot have ${own(others)}. ${NOTHING}`),
    );
    return { matches: [], findings };
  }
  // The route with the most conditions wins, and with as many, the one with a host, then the one with an expression.
  const lists = [
    route.hosts,
    route.paths,
    written,
    ...others.filter((each) => each !== 'protocols'),
  ];
  const weight = lists.filter((list) => list.length > 0).length;
  const matches =
    methods?.length === 0
      ? []
      : hosts.flatMap((host) =>
          paths.map(({ value, ...path }): RouteMatch => {
            const conditions = [
              others.length > 0 ? own(others) : undefined,
              host.condition,
              path.condition,
            ];
            const known = conditions.filter((each) => each !== undefined);
            return {
              ...{
                host: host.value,
                template: value.template,
                methods,
                isNarrower: value.isNarrower,
              },
              condition: known.length === 0 ? undefined : known.join(' and '),
              rank: [weight, ...host.rank, ...path.rank],
            };
          }),
        );
  return { matches, findings };
}

function own(others: readonly string[]): string {
  return `its ${others.join(' and ')}`;
}

type Leave = (at: FilePlace, what: string, why: string) => void;

function hostsOf(
  { hosts, place }: Route,
  isLimited: boolean,
  leave: Leave,
): Named<string | undefined>[] {
  if (hosts.length === 0) return [{ value: undefined, rank: [0] }];
  return [...new Set(hosts)].flatMap((host): Named<string | undefined>[] => {
    const value = hostOf(host);
    const rank = [host.includes('*') ? 0 : 1];
    if (value !== undefined) return [{ value, rank }];
    leave(place, `host ${host}`, HOSTS);
    return isLimited ? [] : [{ value, rank, condition: `the host ${host}` }];
  });
}

interface Path {
  readonly template: string;
  readonly isNarrower: boolean;
}

function pathsOf({ paths, regexPriority }: Route, isLimited: boolean, leave: Leave): Named<Path>[] {
  if (paths.length === 0)
    return [{ value: { template: ANY_PATH, isNarrower: false }, rank: [0, 0, 0] }];
  return paths.flatMap((path: RoutePath): Named<Path>[] => {
    const isRegex = path.kind === 'regex';
    const rank = [isRegex ? 1 : 0, isRegex ? regexPriority : 0, path.text.length];
    const known = templatesOfPath(path.text, path.kind);
    const condition = `the path ${path.text}`;
    if (known === undefined) leave(path.place, `path ${path.text}`, PATHS);
    if (known === undefined && isLimited) return [];
    const { templates, isWider, isNarrower } = known ?? { ...onePath(ANY_PATH), isWider: true };
    return templates.map((template) => ({
      value: { template, isNarrower },
      rank,
      condition: isWider ? condition : undefined,
    }));
  });
}
