/** Middlewares of Traefik that change the path after the check. */
import {
  changeTo,
  OLD_PATH,
  type PathChange,
  partReplaced,
  prefixReplaced,
} from '../path-change.ts';
import type { Rewrite } from '../rewrites.ts';
import { at, listAt, mapsWith, textAt } from '../yaml.ts';
import { byPriority, isCheck, type Router, type Routing, routersIn, takes } from './sites.ts';
import { serversOf } from './ways.ts';

export function traefikRewrites(routing: Routing): Rewrite[] {
  return mapsWith(routing.yaml, 'routers').flatMap((map) => {
    const routers = routersIn(map, routing);
    const isAsked = routers.some(({ asks }) => asks);
    return routers
      .filter(({ asks }) => asks || !isAsked)
      .flatMap((router) => rewritesOf(router, routers, map));
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
  const one = (kind: string, change: PathChange | undefined) =>
    change === undefined ? [] : [{ kind, change }];
  return [
    ...one('replacePath', path === undefined ? path : changeTo(path)),
    ...one('replacePathRegex', regex === undefined ? regex : partReplaced(regex, replacement)),
    ...one('addPrefix', added === undefined ? added : changeTo(`${added}${OLD_PATH}`)),
    ...prefixes.flatMap((prefix) =>
      one('stripPrefix', prefixReplaced(prefix.replace(/\/$/, ''), '')),
    ),
  ];
}
