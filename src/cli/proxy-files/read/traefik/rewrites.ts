import {
  changeTo,
  OLD_PATH,
  type PathChange,
  partReplaced,
  prefixReplaced,
} from '../path-change.ts';
import type { Rewrite } from '../rewrites.ts';
import { at, listAt, mapsWith, textAt } from '../yaml.ts';
import { serversOf } from './routes.ts';
import { byPriority, isCheck, type Router, type Routing, routersIn, takes } from './sites.ts';

export function traefikRewrites(routing: Routing): Rewrite[] {
  return mapsWith(routing.yaml, 'routers').flatMap((map) => {
    const routers = routersIn(map, routing);
    const checked = routers.filter(({ isChecked }) => isChecked);
    // If no router has the check, its entry point does, which is in another file.
    return (checked.length > 0 ? checked : routers).flatMap((router) =>
      rewritesOf(router, routers, map),
    );
  });
}

function rewritesOf(router: Router, routers: readonly Router[], http: unknown): Rewrite[] {
  const { middlewares } = router;
  const after = middlewares.slice(middlewares.findIndex((name) => isCheck(name, http)) + 1);
  const reached = serversOf(router.service, http);
  const isSame = (other: Router) =>
    serversOf(other.service, http).some((each) => reached.includes(each));
  const alike = routers
    .filter(({ entryPoints }) => entryPoints === router.entryPoints)
    .sort(byPriority);
  return after.flatMap((name) =>
    changesBy(at(http, 'middlewares', name)).map(({ kind, change }) => ({
      what: `${kind} of the middleware ${name}`,
      place: router.place,
      hosts: undefined,
      change,
      sent: (router.rule?.paths ?? []).map((path) => path.replace('*', '')),
      isApplied: (path) => router.rule && takes(router.rule, path),
      isServed: (path) => {
        const taken = alike.filter(({ rule }) => rule === undefined || takes(rule, path));
        const first = taken.findIndex(({ rule }) => rule !== undefined);
        return taken.slice(0, first === -1 ? undefined : first + 1).some(isSame);
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
