/** Reports headers that proxies do not pass on, with the remedy for the proxy. */
import type { HeaderWatchEvents } from '../core/header-watch.ts';
import { DIALECTS } from '../dialects/index.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

export function headerReports(
  events: Pick<Telemetry['proxies'], 'headerUnseen' | 'headerArrived' | 'headerSeen'>,
): HeaderWatchEvents {
  return {
    headerUnseen(unseen) {
      const dialect = DIALECTS.find(({ name }) => name === unseen.dialect);
      events.headerUnseen(unseen, dialect?.hasProxyConfig ?? false);
    },
    headerArrived: events.headerArrived,
    headerSeen: events.headerSeen,
  };
}
