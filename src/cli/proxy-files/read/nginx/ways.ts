/** The ways of NGINX to applications: servers, locations and `stream`. */

import { type Directive, everyDirective } from '../../nginx-syntax/directive.ts';
import { addressOf } from '../addresses.ts';
import type { Route } from '../routes.ts';
import {
  innerLevels,
  isChecked,
  isForHeadgate,
  type Level,
  levelsIn,
  nearest,
  PASS,
} from './levels.ts';
import { locationFor } from './locations.ts';
import { type ServersOf, serversIn } from './upstreams.ts';

/** Folders of files: no request for an interface of the application begins so. */
const OF_FILES =
  /^\/(?:_\w+\/)?(assets|css|dist|favicon|fonts?|images?|img|js|media|public|robots|static|\.well-known)([/.]|$)/;

export function nginxWays(tree: readonly Directive[]): Route[] {
  return tree.flatMap((block) => {
    const serversOf = serversIn(block);
    if (block.name === 'stream') return waysOfStream(block, serversOf);
    return block.name === 'http' ? waysOfHttp(block, serversOf) : [];
  });
}

function waysOfHttp(http: Directive, serversOf: ServersOf): Route[] {
  const servers = innerLevels({ at: http, around: [] }).filter(({ at }) => at.name === 'server');
  const all = servers.map((server) => ({
    server: server.at,
    ways: levelsIn(server.at, server.around).flatMap((level) => waysOf(level, server, serversOf)),
  }));
  const reached = new Set(
    all.flatMap(({ ways }) =>
      ways.filter((way) => way.isChecked).flatMap(({ servers }) => servers),
    ),
  );
  const checking = all
    .filter(({ ways }) => ways.some((way) => way.isChecked))
    .flatMap(({ server }) => listensOf(server).map((each) => addressOf(each)));
  return (
    all
      // Clients reach the server only by a way that is checked.
      .filter(({ server }) => !isInner(server, reached))
      .flatMap(({ ways }) => ways)
      // A server of this NGINX asks headgate there.
      .filter((way) => way.isChecked || !way.servers.some((each) => checking.includes(each)))
  );
}

/** A port alone gets a colon before it. */
export function listensOf(server: Directive): string[] {
  const written = server.block.flatMap(({ name, args }) =>
    name === 'listen' ? (args[0] ?? []) : [],
  );
  return (written.length === 0 ? ['80'] : written).map((each) => each.replace(/^\d+$/, ':$&'));
}

function isInner(server: Directive, reached: ReadonlySet<string>): boolean {
  const listens = listensOf(server);
  return (
    listens.every((each) => /^(127\.|localhost|\[::1\]|unix:)/.test(each)) &&
    listens.some((each) => reached.has(addressOf(each)))
  );
}

function waysOf(level: Level, server: Level, serversOf: ServersOf): Route[] {
  const location = [level.at, ...level.around].find(({ name }) => name === 'location');
  if (location === undefined || !isOpen(level, location) || isAsked(location, server.at)) return [];
  const place = level.at.where;
  const what = `location ${location.args.join(' ')}`;
  const leading = (target: Level): readonly (readonly string[])[] =>
    passesOf(target.at).flatMap((pass) => serversOf(pass, target));
  const isOwnChecked = isChecked(level);
  const own = !isOwnChecked && isHarmless(level.at) ? [] : leading(level);
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

/** Whether clients can take the location at all. */
function isOpen(level: Level, location: Directive): boolean {
  const { at, around } = level;
  const levels = [at, ...around];
  const isInternal = location.block.some(({ name }) => name === 'internal');
  if (isInternal || location.args[0]?.startsWith('@') || levels.some(isForHeadgate)) return false;
  if (levels.some(({ block }) => block.some(({ name }) => name === 'return'))) {
    // A return in the location leads nowhere but to a page for errors.
    return location.block.some(({ name }) => name === 'error_page');
  }
  return !nearest('deny', levels).some(({ args }) => args[0] === 'all');
}

/** Whether it is for the requests of an `auth_request` or `mirror`. */
function isAsked({ args }: Directive, server: Directive): boolean {
  const isFor = (each: Directive) => each.name === 'auth_request' || each.name === 'mirror';
  return everyDirective(server.block).some((each) => isFor(each) && each.args[0] === args.at(-1));
}

function passesOf({ block }: Directive): string[] {
  return block.filter(({ name }) => PASS.test(name)).flatMap(({ args }) => args[0] ?? []);
}

/** It leads to one path, or to files, and does not change the path. */
function isHarmless({ args, block }: Directive): boolean {
  const [kind = '', path = kind] = args;
  const isNarrow = kind === '=' || (!kind.startsWith('~') && OF_FILES.test(path));
  const changesPath = block.some(
    (each) =>
      each.name === 'rewrite' ||
      (each.name === 'proxy_pass' && /^\w+:\/\/[^/]+\/|\$/.test(each.args[0] ?? '')),
  );
  return isNarrow && !changesPath;
}

interface Next {
  readonly target: Level;
  /** NGINX goes there before it checks. */
  readonly isBefore: boolean;
}

/** Where `try_files` and `error_page` lead. */
function nextLevels(level: Level, server: Level): Next[] {
  const { at, around } = level;
  const returned = at.block.flatMap(({ name, args }) => (name === 'return' ? (args[0] ?? []) : []));
  const locations = innerLevels(server);
  const toName = (name: string) => locations.filter((each) => each.at.args[0] === name);
  const tried = at.block
    .filter(({ name }) => name === 'try_files')
    .map(({ args }) => args.at(-1) ?? '')
    .flatMap((target) => {
      if (target.startsWith('@')) return toName(target);
      const path = target.replace(/[?$].*$/, '');
      const found = path.length > 1 ? locationFor(path, locations) : undefined;
      return found === undefined ? [] : [found];
    })
    .map((target) => ({ target, isBefore: false }));
  const pages = nearest('error_page', [at, ...around]).flatMap(({ args }) =>
    toName(args.at(-1) ?? '').map((target) => ({
      target,
      isBefore: returned.some((status) => args.includes(status)),
    })),
  );
  return [...tried, ...pages.filter(({ target }) => !isForHeadgate(target.at))];
}

function waysOfStream(stream: Directive, serversOf: ServersOf): Route[] {
  return stream.block
    .filter(({ name }) => name === 'server')
    .flatMap((at) =>
      passesOf(at).flatMap((pass) =>
        serversOf(pass, { at, around: [stream] }).map((servers) => ({
          what: `the stream server on ${listensOf(at).join(', ')}`,
          place: at.where,
          servers,
          isChecked: false,
        })),
      ),
    );
}
