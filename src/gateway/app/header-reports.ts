/** Reports headers that proxies do not pass on, with the remedy for the proxy. */
import type { HeaderWatchEvents } from '../core/header-watch.ts';
import { DIALECTS } from '../dialects/index.ts';
import type { ProxyEvents } from '../telemetry/proxies/proxy-events.ts';

export function headerReports(
  events: Pick<ProxyEvents, 'headerUnseen' | 'headerArrived' | 'headerSeen'>,
): HeaderWatchEvents {
  return {
    headerUnseen(unseen) {
      const dialect = DIALECTS.find(({ name }) => name === unseen.dialect);
      events.headerUnseen(unseen, { hasProxyConfig: dialect?.hasProxyConfig ?? false });
    },
    headerArrived: events.headerArrived,
    headerSeen: events.headerSeen,
  };
}
