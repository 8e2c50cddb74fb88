/** The servers of NGINX that ask headgate, and what their locations do with a request. */

import { type Directive, everyDirective } from '../../nginx-syntax/directive.ts';
import { addressOf } from '../addresses.ts';
import { hostsOf } from '../path-policies.ts';
import type { Choice, Site } from '../unchecked-paths.ts';
import { innerLevels, isChecked, type Level, levelsIn, PASS } from './levels.ts';
import { locationFor, ruleOf } from './locations.ts';
import { serversIn } from './upstreams.ts';
import { listensOf } from './ways.ts';

/** With these, another location may take the request, or none. */
const ELSEWHERE: ReadonlySet<string> = new Set(['rewrite', 'return', 'internal']);

/** The servers with a location that asks headgate. The others are for something else. */
export function nginxSites(tree: readonly Directive[]): Site[] {
  const servers = everyDirective(tree).filter(({ name, args }) => name === 'server' && !args[0]);
  const own = new Set(servers.flatMap(listensOf).map((each) => addressOf(each)));
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
  const serversOf = serversIn(server.around[0] ?? server.at);
  // A server of this NGINX may ask headgate.
  const comesBack = (target: string, level: Level) =>
    target.includes('$') ||
    serversOf(target, level).some((all) => all.some((each) => own.has(each)));
  return {
    hosts: hostsOfServer(server.at),
    paths: inside.flatMap(({ kind, text }) => (kind.startsWith('~') || text === '' ? [] : [text])),
    choose: (path) => {
      const level = isUnknown ? undefined : locationFor(path, innerLevels(server));
      return level && choiceOf(level, (target) => comesBack(target, level));
    },
  };
}

/** Undefined if another location may take the request. */
function choiceOf(level: Level, comesBack: (target: string) => boolean): Choice | undefined {
  const { block, args, where } = level.at;
  const pass = block.find(({ name }) => PASS.test(name));
  if (block.some(leadsElsewhere) || pass === undefined) return undefined;
  const isUnchecked = !isChecked(level) && !comesBack(pass.args[0] ?? '');
  return { what: `location ${args.join(' ')}`, place: where, isUnchecked };
}

function leadsElsewhere({ name, args }: Directive): boolean {
  return ELSEWHERE.has(name) || (name === 'try_files' && args.at(-1)?.startsWith('=') !== true);
}
