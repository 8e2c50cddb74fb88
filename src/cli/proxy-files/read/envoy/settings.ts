/** What a route, virtual host or cluster changes about a filter of Envoy: `typed_per_filter_config`. */

import { at, isMap, textAt } from '../yaml-nodes.ts';
import type { PlacedMap } from '../yaml-places.ts';
import type { Filter, VirtualHost } from './config.ts';

export interface Setting {
  /** The name of the filter that it is for. */
  readonly filter: string;
  readonly isOff: boolean;
  /** The policy that the check names. */
  readonly policy: string | undefined;
  /** The check names the header with the request's id. */
  readonly hasRequestId: boolean;
  /** It sends the check to another service. */
  readonly hasService: boolean;
  /** It is for a filter of the type ext_authz. */
  readonly isExtAuthz: boolean;
}

export function settingsOf({ value }: Pick<PlacedMap, 'value'>): Setting[] {
  const all = at(value, 'typed_per_filter_config');
  return Object.entries(isMap(all) ? all : {}).map(([filter, outer]) => {
    const inner = at(outer, 'config') ?? outer;
    const check = at(inner, 'check_settings');
    return {
      filter,
      isOff: at(outer, 'disabled') === true || at(inner, 'disabled') === true,
      hasRequestId: at(check, 'context_extensions', 'request_id') !== undefined,
      policy: textAt(check, 'context_extensions', 'policy'),
      hasService:
        at(check, 'http_service') !== undefined || at(check, 'grpc_service') !== undefined,
      isExtAuthz: textAt(inner, '@type')?.endsWith('.ExtAuthzPerRoute') ?? false,
    };
  });
}

/** Whether requests pass without this check. The most specific setting decides; `levels` begins with it. */
export function isSwitchedOff(
  filter: Filter,
  levels: readonly Pick<PlacedMap, 'value'>[],
): boolean {
  for (const level of levels) {
    const own = settingsOf(level).find((setting) => setting.filter === filter.name);
    if (own !== undefined) return own.isOff;
  }
  return at(filter.map.value, 'disabled') === true;
}

/** The settings that a route has for this filter, the most specific first. */
export function levelsOf(route: PlacedMap, { map, owner }: VirtualHost): PlacedMap[] {
  return [route, map, owner];
}
