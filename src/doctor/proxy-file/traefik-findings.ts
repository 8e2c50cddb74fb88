/** Middlewares of Traefik that change the path after the check, and the policies that do not apply then. */
import type { ValidFile } from '../../config/policy-file/compile.ts';
import type { DoctorFinding } from '../catalog.ts';
import { changeTo, type PathChange, replaced, stripped } from './path-change.ts';
import { avoidedPolicies, type Rewrite, rewriteFindings } from './rewrites.ts';
import { asksHeadgate, withoutTemplates } from './traefik.ts';
import { byPriority, plainName, type Router, routersIn, takes } from './traefik-sites.ts';
import { serversOf } from './traefik-ways.ts';
import { at, listAt, textAt } from './yaml-nodes.ts';
import { placedYaml } from './yaml-places.ts';

export function traefikFindings(
  file: string,
  text: string,
  policies: ValidFile | undefined,
): DoctorFinding[] {
  if (policies === undefined) return [];
  const yaml = placedYaml(withoutTemplates(text));
  const rewrites = yaml.with('routers').flatMap((map) => {
    const routers = routersIn(yaml, map, file);
    const input = { http: map.value, routers, policies };
    const isAsked = routers.some(({ asks }) => asks);
    return routers
      .filter(({ asks }) => asks || !isAsked)
      .flatMap((router) => rewritesOf(router, input));
  });
  return rewriteFindings(rewrites);
}

interface Input {
  readonly http: unknown;
  readonly routers: readonly Router[];
  readonly policies: ValidFile;
}

function rewritesOf(router: Router, { http, routers, policies }: Input): Rewrite[] {
  const names = router.middlewares.flatMap((name) => partsOf(name, http));
  const after = names.slice(
    names.findIndex((name) => asksHeadgate(at(http, 'middlewares', name, 'forwardAuth'))) + 1,
  );
  const reached = serversOf(router.service, http);
  const isSame = (other: Router) =>
    serversOf(other.service, http).some((each) => reached.includes(each));
  const alike = routers
    .filter(({ entryPoints }) => entryPoints === router.entryPoints)
    .sort(byPriority);
  return after.flatMap((name) =>
    changesBy(at(http, 'middlewares', name)).flatMap(({ kind, change }) => {
      const avoided = avoidedPolicies(policies, {
        change,
        isApplied: (path) => router.rule && takes(router.rule, path),
        isServed: (path) => {
          const taken = alike.filter(({ rule }) => rule === undefined || takes(rule, path));
          const first = taken.findIndex(({ rule }) => rule !== undefined);
          return taken.slice(0, first === -1 ? undefined : first + 1).some(isSame);
        },
        sent: (router.rule?.paths ?? []).map((path) => path.replace('*', '')),
      });
      const what = `${kind} of the middleware ${name}`;
      return avoided.length === 0 ? [] : [{ what, place: router.place, policies: avoided }];
    }),
  );
}

/** The middlewares of a chain in their order, also of chains within it. */
function partsOf(name: string, http: unknown, depth = 0): string[] {
  const parts = listAt(http, 'middlewares', name, 'chain', 'middlewares');
  if (parts.length === 0 || depth > MOST_CHAINS) return [name];
  return parts.flatMap((each) => partsOf(plainName(each), http, depth + 1));
}

const MOST_CHAINS = 8;

function changesBy(middleware: unknown): { kind: string; change: PathChange }[] {
  const path = textAt(middleware, 'replacePath', 'path');
  const regex = textAt(middleware, 'replacePathRegex', 'regex');
  const added = textAt(middleware, 'addPrefix', 'prefix');
  const replacement = textAt(middleware, 'replacePathRegex', 'replacement') ?? '';
  const prefixes = listAt(middleware, 'stripPrefix', 'prefixes').map(String);
  return [
    ...(path === undefined ? [] : [{ kind: 'replacePath', change: changeTo(path, 'nothing') }]),
    ...(regex === undefined
      ? []
      : [{ kind: 'replacePathRegex', change: replaced(regex, replacement, true) }]),
    ...(added === undefined ? [] : [{ kind: 'addPrefix', change: changeTo(added, 'the path') }]),
    ...prefixes.map((prefix) => ({ kind: 'stripPrefix', change: stripped(prefix) })),
  ];
}
