import { type Directive, directiveText } from '../../proxy-files/nginx-syntax/directive.ts';
import { approximate, type Finding, leftOut, note } from '../shared/finding.ts';
import type { ExemptEntry } from '../shared/imported-limit.ts';
import { isRange } from '../shared/ranges.ts';
import type { Zone } from './limits.ts';

type Zones = ReadonlyMap<string, Zone>;
type Used = ReadonlyMap<string, ReadonlySet<string>>;

export function zoneFindings(zones: Zones, used: Used): Finding[] {
  return [...sharedZones(zones, used), ...exemptFindings(zones, used)];
}

function sharedZones(zones: Zones, used: Used): Finding[] {
  return [...used].flatMap(([name, paths]) => {
    const zone = zones.get(name);
    if (zone === undefined || paths.size < 2) return [];
    const shown = `${[...paths].slice(0, 8).join(', ')}${paths.size > 8 ? ' and more' : ''}`;
    const why = `NGINX counts all requests of this zone together, and headgate counts each policy by itself: ${shown}. A client gets the limit in each of them.`;
    return [approximate(zone.directive.place, directiveText(zone.directive), why)];
  });
}

function usedZones(zones: Zones, used: Used): Zone[] {
  return [...zones.values()].filter(({ name }) => used.has(name));
}

function networksOf({ meaning }: Zone): readonly string[] {
  return typeof meaning === 'string' ? [] : (meaning.exempt ?? []);
}

export function exemptOf(zones: Zones, used: Used): ExemptEntry[] {
  const byNetwork = new Map<string, string>();
  for (const zone of usedZones(zones, used)) {
    for (const network of networksOf(zone).filter(isRange)) {
      if (!byNetwork.has(network)) byNetwork.set(network, `not limited by the zone ${zone.name}`);
    }
  }
  return [...byNetwork].map(([address, comment]) => ({ address, comment }));
}

const EXEMPT =
  'NGINX exempts these networks from this zone alone. "exempt" of the policy file exempts them from every limit.';

function exemptFindings(zones: Zones, used: Used): Finding[] {
  const all = usedZones(zones, used);
  const lists = new Set(all.map((zone) => networksOf(zone).join()));
  return all.flatMap((zone) => {
    const { place } = zone.directive;
    const what = directiveText(zone.directive);
    const networks = networksOf(zone);
    const left = networks
      .filter((network) => !isRange(network))
      .map((network) => `"${network}" cannot be exempt in a policy file. Name a narrower network.`)
      .map((why) => leftOut(place, what, why));
    if (lists.size < 2 || networks.length === 0) return left;
    return [...left, approximate(place, what, EXEMPT)];
  });
}

const OTHERS: Readonly<Record<string, string>> = {
  limit_conn: 'headgate counts requests, and not open connections. Keep this line in NGINX.',
  limit_rate: 'headgate does not limit bandwidth. Keep this line in NGINX.',
  limit_rate_after: 'headgate does not limit bandwidth. Keep this line in NGINX.',
};

export function otherLimits(directive: Directive): Finding[] {
  const what = directiveText(directive);
  const why = Object.hasOwn(OTHERS, directive.name) ? OTHERS[directive.name] : undefined;
  if (why !== undefined) return [leftOut(directive.place, what, why)];
  if (directive.name !== 'limit_req_status' || directive.args[0] === '429') return [];
  const status =
    'headgate answers 429, with the time to wait. If clients need another status, change it in the proxy.';
  return [note(directive.place, what, status)];
}
