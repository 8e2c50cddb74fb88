import { type Directive, everyDirective, named } from '../../nginx-syntax/directive.ts';
import { type Hosts, hostsOf } from '../path-policies.ts';
import type { Choice, Site } from '../unchecked-paths.ts';
import { innerLevels, isChecked, type Level, levelsIn, passesOf, serverLevels } from './levels.ts';
import { locationFor, ruleOf, UNKNOWN, uriOf } from './locations.ts';
import { addressesOf } from './routes.ts';
import { serversIn } from './upstreams.ts';

export function nginxSites(tree: readonly Directive[]): Site[] {
  const servers = everyDirective(tree).filter(({ name, args }) => name === 'server' && !args[0]);
  const own = new Set(servers.flatMap(addressesOf));
  return checkingServers(tree).map((server) => siteOf(server, own));
}

export function checkingServers(tree: readonly Directive[]): Level[] {
  return named(tree, 'http')
    .flatMap(serverLevels)
    .filter((server) =>
      levelsIn(server).some((level) => level[0].name === 'location' && isChecked(level)),
    );
}

function hostsOfServer({ block }: Directive): Hosts {
  return hostsOf(named(block, 'server_name').flatMap(({ args }) => args));
}

function siteOf(server: Level, own: ReadonlySet<string>): Site {
  const [at, http = at] = server;
  const outside = everyDirective(at.block.filter(({ name }) => name !== 'location'));
  const isUnknown = named(outside, 'rewrite').length > 0 || named(at.block, 'return').length > 0;
  const rules = levelsIn(server).map(([each]) => ruleOf(each));
  const serversOf = serversIn(http);
  // A server of this NGINX may check the request.
  const comesBack = (target: string, level: Level) =>
    target.includes('$') ||
    serversOf(target, level).some((all) => all.some((each) => own.has(each)));
  return {
    hosts: hostsOfServer(at),
    paths: rules.flatMap(({ kind, text }) => (kind.startsWith('~') || text === '' ? [] : [text])),
    choose: (path) => {
      const level = isUnknown ? undefined : locationFor(path, innerLevels(server));
      return level && choiceOf(level, (target) => comesBack(target, level));
    },
  };
}

/** Returns undefined if another location may take the request. */
function choiceOf(level: Level, comesBack: (target: string) => boolean): Choice | undefined {
  const [{ block, args, where }] = level;
  const [pass] = passesOf(level[0]);
  if (leadsElsewhere(block) || pass === undefined) return undefined;
  const isUnchecked = !isChecked(level) && !comesBack(pass);
  return { what: `location ${args.join(' ')}`, place: where, isUnchecked };
}

function leadsElsewhere(block: readonly Directive[]): boolean {
  return (
    named(block, 'rewrite', 'return', 'internal').length > 0 ||
    named(block, 'try_files').some(({ args }) => !args.at(-1)?.startsWith('='))
  );
}

export interface CheckedServer {
  readonly server: Level;
  readonly hosts: Hosts;
  /** Requests of a location may be checked there or before. */
  isChecked(location: Level): boolean;
  isReached(path: string): boolean;
}

/** Requests of these are checked by themselves, or by a server that passes requests on to them. */
export function checkedServers(tree: readonly Directive[]): CheckedServer[] {
  const checking = checkingServers(tree);
  return checking.flatMap((server) => [
    { server, hosts: hostsOfServer(server[0]), isChecked, isReached: () => true },
    ...innerServers(server).filter((inner) => !checking.some(([at]) => at === inner.server[0])),
  ]);
}

/** Checked locations pass requests on to these servers, with their path. */
function innerServers(outer: Level): CheckedServer[] {
  const [outerServer, http] = outer;
  if (http === undefined) return [];
  const serversOf = serversIn(http);
  const locations = innerLevels(outer);
  const leadsTo = (addresses: readonly string[], level: Level): boolean =>
    isChecked(level) &&
    named(level[0].block, 'proxy_pass').some(
      ({ args: [url = ''] }) =>
        uriOf(url, level[0]) === undefined &&
        serversOf(url, level).some((all) => all.some((each) => addresses.includes(each))),
    );
  return serverLevels(http).flatMap((server) => {
    const addresses = addressesOf(server[0]);
    if (!levelsIn(outer).some((level) => leadsTo(addresses, level))) return [];
    const isReached = (path: string) => {
      const location = locationFor(path, locations);
      return location === UNKNOWN || (location !== undefined && leadsTo(addresses, location));
    };
    const hosts = hostsOfServer(server[0]) ?? hostsOfServer(outerServer);
    return [{ server, hosts, isChecked: () => true, isReached }];
  });
}
