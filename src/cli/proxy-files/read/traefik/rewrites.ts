import {
  changeTo,
  OLD_PATH,
  type PathChange,
  partReplaced,
  prefixReplaced,
} from '../path-change.ts';
import type { Rewrite } from '../rewrites.ts';
import { at, listAt, textAt } from '../yaml.ts';
import { byPriority, isCheck, type Router, type Routing, takes } from './routers.ts';

export function traefikRewrites(routings: readonly Routing[]): Rewrite[] {
  return routings.flatMap((routing) => {
    const checked = routing.routers.filter(({ isChecked }) => isChecked);
    // If no router has the check, its entry point does, which is in another file.
    const passing = checked.length > 0 ? checked : routing.routers;
    return passing.flatMap((router) => rewritesOf(router, routing));
  });
}

function rewritesOf(router: Router, { section, routers }: Routing): Rewrite[] {
  const { middlewares, rule: own, servers } = router;
  const check = middlewares.findIndex((name) => isCheck(name, section));
  const alike = routers
    .filter(({ entryPoints }) => entryPoints === router.entryPoints)
    .sort(byPriority);
  return middlewares.slice(check + 1).flatMap((name) =>
    changesBy(at(section, 'middlewares', name)).map(({ kind, change }) => ({
      what: `${kind} of the middleware ${name}`,
      place: router.place,
      hosts: undefined,
      change,
      sent: (own?.paths ?? []).map((path) => path.replace('*', '')),
      isApplied: (path) => own && takes(own, path),
      isServed: (path) => {
        const taken = alike.filter(({ rule }) => rule === undefined || takes(rule, path));
        const first = taken.findIndex(({ rule }) => rule !== undefined);
        return taken
          .slice(0, first === -1 ? undefined : first + 1)
          .some((other) => other.servers.some((each) => servers.includes(each)));
      },
    })),
  );
}

function changesBy(middleware: unknown): { kind: string; change: PathChange }[] {
  const path = textAt(middleware, 'replacePath', 'path');
  const regex = textAt(middleware, 'replacePathRegex', 'regex');
  const added = textAt(middleware, 'addPrefix', 'prefix');
  const replacement = textAt(middleware, 'replacePathRegex', 'replacement') ?? '';
  const prefixes = listAt(middleware, 'stripPrefix', 'prefixes').map(String);
  return [
    ...(path === undefined ? [] : [{ kind: 'replacePath', change: changeTo(path) }]),
    ...(regex === undefined
      ? []
      : [{ kind: 'replacePathRegex', change: partReplaced(regex, replacement) }]),
    ...(added === undefined
      ? []
      : [{ kind: 'addPrefix', change: changeTo(`${added}${OLD_PATH}`) }]),
    ...prefixes.map((prefix) => ({
      kind: 'stripPrefix',
      change: prefixReplaced(prefix.replace(/\/$/, ''), ''),
    })),
  ];
}
