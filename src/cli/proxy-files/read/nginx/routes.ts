import { type Directive, everyDirective, named } from '../../nginx-syntax/directive.ts';
import { addressOf } from '../addresses.ts';
import type { Route } from '../unchecked-paths.ts';
import {
  innerLevels,
  isChecked,
  isForHeadgate,
  type Level,
  levelsIn,
  nearest,
  passesOf,
  serverLevels,
} from './levels.ts';
import { locationFor } from './locations.ts';
import { type ServersOf, serversIn } from './upstreams.ts';

/** Folders of files: no request for an interface of the application begins so. */
const OF_FILES =
  /^\/(?:_\w+\/)?(assets|css|dist|favicon|fonts?|images?|img|js|media|public|robots|static|\.well-known)([/.]|$)/;

export function nginxRoutes(tree: readonly Directive[]): Route[] {
  return tree.flatMap((block) => {
    const serversOf = serversIn(block);
    if (block.name === 'stream') return routesOfStream(block, serversOf);
    return block.name === 'http' ? routesOfHttp(block, serversOf) : [];
  });
}

function routesOfHttp(http: Directive, serversOf: ServersOf): Route[] {
  const all = serverLevels(http).map((server) => {
    const routes = levelsIn(server).flatMap((level) => routesOf(level, server, serversOf));
    return { server: server[0], routes, checked: routes.filter((route) => route.isChecked) };
  });
  const reached = new Set(all.flatMap(({ checked }) => checked.flatMap(({ servers }) => servers)));
  const checking = all
    .filter(({ checked }) => checked.length > 0)
    .flatMap(({ server }) => addressesOf(server));
  return (
    all
      // Clients reach an inner server only by a route that is checked.
      .filter(({ server }) => !isInner(server, reached))
      .flatMap(({ routes }) => routes)
      // A server of this NGINX checks the request there.
      .filter((route) => route.isChecked || !route.servers.some((each) => checking.includes(each)))
  );
}

/** A port alone gets a colon before it. */
function listensOf({ block }: Directive): string[] {
  const written = named(block, 'listen').flatMap(({ args }) => args[0] ?? []);
  return (written.length === 0 ? ['80'] : written).map((each) => each.replace(/^\d+$/, ':$&'));
}

export function addressesOf(server: Directive): string[] {
  return listensOf(server).map((each) => addressOf(each));
}

function isInner(server: Directive, reached: ReadonlySet<string>): boolean {
  const listens = listensOf(server);
  return (
    listens.every((each) => /^(127\.|localhost|\[::1\]|unix:)/.test(each)) &&
    addressesOf(server).some((each) => reached.has(each))
  );
}

function routesOf(level: Level, server: Level, serversOf: ServersOf): Route[] {
  const [location] = named(level, 'location');
  if (!location || !isOpen(level, location) || isSubrequest(location, server[0])) return [];
  const place = level[0].where;
  const what = `location ${location.args.join(' ')}`;
  const leading = (target: Level): readonly (readonly string[])[] =>
    passesOf(target[0]).flatMap((pass) => serversOf(pass, target));
  const isOwnChecked = isChecked(level);
  const own = !isOwnChecked && isHarmless(level[0]) ? [] : leading(level);
  const others = nextLevels(level, server).flatMap(({ target, isBefore }) =>
    leading(target).map((servers) => ({
      servers,
      isChecked: (isOwnChecked && !isBefore) || isChecked(target),
    })),
  );
  return [...own.map((servers) => ({ servers, isChecked: isOwnChecked })), ...others].map(
    (each) => ({ what, place, ...each }),
  );
}

function isOpen(level: Level, { block, args }: Directive): boolean {
  const isInternal = named(block, 'internal').length > 0;
  if (isInternal || args[0]?.startsWith('@') || level.some(isForHeadgate)) return false;
  // A return in the location leads nowhere but to a page for errors.
  if (level.some((each) => named(each.block, 'return').length > 0))
    return named(block, 'error_page').length > 0;
  return !nearest('deny', level).some(({ args: [from] }) => from === 'all');
}

/** The location gets the requests of an `auth_request` or a `mirror`. */
function isSubrequest({ args }: Directive, { block }: Directive): boolean {
  const lines = named(everyDirective(block), 'auth_request', 'mirror');
  return lines.some((each) => each.args[0] === args.at(-1));
}

/** It leads to one path, or to files, and does not change the path. */
function isHarmless({ args, block }: Directive): boolean {
  const [kind = '', path = kind] = args;
  const isNarrow = kind === '=' || (!kind.startsWith('~') && OF_FILES.test(path));
  const changesPath =
    named(block, 'rewrite').length > 0 ||
    named(block, 'proxy_pass').some(({ args: [url = ''] }) => /^\w+:\/\/[^/]+\/|\$/.test(url));
  return isNarrow && !changesPath;
}

/** `isBefore` tells that the request gets there before the check of this location. */
function nextLevels(level: Level, server: Level) {
  const [{ block }] = level;
  const returned = named(block, 'return').flatMap(({ args }) => args[0] ?? []);
  const locations = innerLevels(server);
  const toName = (name: string) => locations.filter(([{ args }]) => args[0] === name);
  const tried = named(block, 'try_files').flatMap(({ args }) => {
    const target = args.at(-1) ?? '';
    if (target.startsWith('@')) return toName(target);
    const path = target.replace(/[?$].*$/, '');
    const found = path.length > 1 ? locationFor(path, locations) : undefined;
    return found === undefined ? [] : [found];
  });
  const pages = nearest('error_page', level).flatMap(({ args }) =>
    toName(args.at(-1) ?? '').map((target) => ({
      target,
      isBefore: returned.some((status) => args.includes(status)),
    })),
  );
  return [
    ...tried.map((target) => ({ target, isBefore: false })),
    ...pages.filter(({ target: [at] }) => !isForHeadgate(at)),
  ];
}

function routesOfStream(stream: Directive, serversOf: ServersOf): Route[] {
  return named(stream.block, 'server').flatMap((at) =>
    passesOf(at)
      .flatMap((pass) => serversOf(pass, [at, stream]))
      .map((servers) => ({
        what: `the stream server on ${listensOf(at).join(', ')}`,
        place: at.where,
        servers,
        isChecked: false,
      })),
  );
}
