/** The servers of NGINX that ask headgate, and what their locations do with a request. */

import { hostsOf } from '../path-policies.ts';
import type { Choice, Site } from '../unchecked-paths.ts';
import { innerLevels, isChecked, type Level, levelsIn, PASS } from './levels.ts';
import { locationFor, ruleOf } from './locations.ts';
import { type Directive, everyDirective } from './tree.ts';

/** With these, another location may take the request, or none. */
const ELSEWHERE: ReadonlySet<string> = new Set(['rewrite', 'return', 'internal']);

/** The servers with a location that asks headgate. The others are for something else. */
export function nginxSites(tree: readonly Directive[]): Site[] {
  const own = ownAddresses(tree);
  return serversThatAsk(tree).map((server) => siteOf(server, own));
}

export function serversThatAsk(tree: readonly Directive[]): Level[] {
  return tree
    .filter(({ name }) => name === 'http')
    .flatMap((http) => levelsIn(http, []))
    .filter(({ at }) => at.name === 'server')
    .filter(({ at, around }) =>
      levelsIn(at, around).some((each) => each.at.name === 'location' && isChecked(each)),
    );
}

/** Undefined unless all of its names are names of hosts or domains. */
export function hostsOfServer({ block }: Directive): readonly string[] | undefined {
  return hostsOf(block.filter(({ name }) => name === 'server_name').flatMap(({ args }) => args));
}

function siteOf(server: Level, own: ReadonlySet<string>): Site {
  const { block } = server.at;
  const moves = everyDirective(block.filter(({ name }) => name !== 'location')).some(
    ({ name }) => name === 'rewrite',
  );
  const inside = levelsIn(server.at, server.around).map(({ at }) => ruleOf(at));
  const isUnknown = moves || block.some(({ name }) => name === 'return');
  const upstreams = server.around.flatMap((http) =>
    http.block.filter(({ name }) => name === 'upstream'),
  );
  return {
    hosts: hostsOfServer(server.at),
    paths: inside.flatMap(({ kind, text }) => (kind.startsWith('~') || text === '' ? [] : [text])),
    choose: (path) => {
      const level = isUnknown ? undefined : locationFor(path, innerLevels(server));
      return level && choiceOf(level, (target) => isOwn(target, { own, upstreams }));
    },
  };
}

/** Undefined if another location may take the request. */
function choiceOf(level: Level, comesBack: (target: string) => boolean): Choice | undefined {
  const { block, args, place } = level.at;
  const pass = block.find(({ name }) => PASS.test(name));
  if (block.some(leadsElsewhere) || pass === undefined) return undefined;
  const isUnchecked = !isChecked(level) && !comesBack(pass.args[0] ?? '');
  return { what: `location ${args.join(' ')}`, place, isUnchecked };
}

function ownAddresses(tree: readonly Directive[]): ReadonlySet<string> {
  return new Set(
    everyDirective(tree)
      .filter(({ name }) => name === 'listen')
      .map(({ args: [address = ''] }) => portOf(address)),
  );
}

function leadsElsewhere({ name, args }: Directive): boolean {
  return ELSEWHERE.has(name) || (name === 'try_files' && args.at(-1)?.startsWith('=') !== true);
}

interface Addresses {
  readonly own: ReadonlySet<string>;
  readonly upstreams: readonly Directive[];
}

/** Whether the request may come back to a server of this NGINX, which may ask headgate. */
function isOwn(target: string, { own, upstreams }: Addresses): boolean {
  if (target.includes('$')) return true;
  const host = target.replace(/^[a-z]+:\/\//, '').replace(/^(unix:[^:]*|[^/]*).*$/, '$1');
  const upstream = upstreams.find(({ args }) => args[0] === host);
  const addresses = upstream?.block.flatMap(({ name, args }) =>
    name === 'server' ? (args[0] ?? []) : [],
  ) ?? [host];
  return addresses.some(
    (address) => /^(unix:|127\.|localhost|\[::1\])/.test(address) && own.has(portOf(address)),
  );
}

/** The port, or the path of a unix socket. */
function portOf(address: string): string {
  if (address.startsWith('unix:')) return address;
  return /(?:^|:)(\d+)$/.exec(address)?.[1] ?? '80';
}
