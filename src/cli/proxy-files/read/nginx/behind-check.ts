/** The servers of NGINX whose requests are checked: by themselves, or by a server that passes requests on to them. */

import type { Directive } from '../../nginx-syntax/directive.ts';
import { addressOf } from '../addresses.ts';
import type { Hosts } from '../path-policies.ts';
import { innerLevels, isChecked, type Level, levelsIn } from './levels.ts';
import { locationFor, UNKNOWN, uriOf } from './locations.ts';
import { hostsOfServer, serversThatAsk } from './sites.ts';
import { serversIn } from './upstreams.ts';
import { listensOf } from './ways.ts';

export interface CheckedServer {
  readonly server: Level;
  readonly hosts: Hosts;
  /** Whether requests of a location are checked, there or before. */
  isChecked(level: Level): boolean;
  /** Whether the server gets requests that clients send with this path. */
  isReached(path: string): boolean;
}

export function checkedServers(tree: readonly Directive[]): CheckedServer[] {
  const asking = serversThatAsk(tree);
  return asking.flatMap((server) => [
    { server, hosts: hostsOfServer(server.at), isChecked, isReached: () => true },
    ...innerServers(server).filter((inner) => !asking.some(({ at }) => at === inner.server.at)),
  ]);
}

/** Checked locations pass requests on to these servers, with their path. */
function innerServers(outer: Level): CheckedServer[] {
  const [http] = outer.around;
  if (http === undefined) return [];
  const serversOf = serversIn(http);
  const locations = innerLevels(outer);
  const leadsTo = (addresses: readonly string[], level: Level): boolean =>
    isChecked(level) &&
    level.at.block.some(
      ({ name, args: [url = ''] }) =>
        name === 'proxy_pass' &&
        uriOf(url, level.at) === undefined &&
        serversOf(url, level).some((all) => all.some((each) => addresses.includes(each))),
    );
  return innerLevels({ at: http, around: [] })
    .filter(({ at }) => at.name === 'server')
    .flatMap((server) => {
      const addresses = listensOf(server.at).map((each) => addressOf(each));
      if (!levelsIn(outer.at, outer.around).some((level) => leadsTo(addresses, level))) return [];
      const isReached = (path: string) => {
        const location = locationFor(path, locations);
        return location === UNKNOWN || (location !== undefined && leadsTo(addresses, location));
      };
      const hosts = hostsOfServer(server.at) ?? hostsOfServer(outer.at);
      return [{ server, hosts, isChecked: () => true, isReached }];
    });
}
