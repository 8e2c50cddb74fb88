/** The servers of NGINX whose requests are checked: by themselves, or by a server that passes requests on to them. */
import { type Directive, named } from '../../nginx-syntax/directive.ts';
import { addressOf } from '../addresses.ts';
import type { Hosts } from '../path-policies.ts';
import { innerLevels, isChecked, type Level, levelsIn, serverLevels } from './levels.ts';
import { locationFor, UNKNOWN, uriOf } from './locations.ts';
import { listensOf } from './routes.ts';
import { checkingServers, hostsOfServer } from './sites.ts';
import { serversIn } from './upstreams.ts';

export interface CheckedServer {
  readonly server: Level;
  readonly hosts: Hosts;
  /** Requests of a location may be checked there or before. */
  isChecked(location: Level): boolean;
  isReached(path: string): boolean;
}

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
    const addresses = listensOf(server[0]).map((each) => addressOf(each));
    if (!levelsIn(outer).some((level) => leadsTo(addresses, level))) return [];
    const isReached = (path: string) => {
      const location = locationFor(path, locations);
      return location === UNKNOWN || (location !== undefined && leadsTo(addresses, location));
    };
    const hosts = hostsOfServer(server[0]) ?? hostsOfServer(outerServer);
    return [{ server, hosts, isChecked: () => true, isReached }];
  });
}
