import { type Directive, directiveText } from '../../proxy-files/nginx-syntax/directive.ts';
import { approximate, type Finding, leftOut, note } from '../shared/finding.ts';
import type { ExemptEntry } from '../shared/imported-limit.ts';
import { isRange, sharedBy } from '../shared/ranges.ts';
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

/** "exempt" exempts from every limit, so only what no zone limits can be there. */
export function exemptOf(zones: Zones, used: Used): ExemptEntry[] {
  const all = usedZones(zones, used);
  const comment = `not limited by the zone ${all.map(({ name }) => name).join(', ')}`;
  return sharedBy(all.map(networksOf)).map((address) => ({ address, comment }));
}

const EXEMPT =
  'other zones limit these networks, and "exempt" of the policy file exempts them from every limit. To exempt them from all, list them there.';

function exemptFindings(zones: Zones, used: Used): Finding[] {
  const all = usedZones(zones, used);
  const shared = sharedBy(all.map(networksOf));
  return all.flatMap((zone) => {
    const { place } = zone.directive;
    const what = directiveText(zone.directive);
    const networks = networksOf(zone);
    const left = networks
      .filter((network) => !isRange(network))
      .map((network) => `"${network}" cannot be exempt in a policy file. Name a narrower network.`)
      .map((why) => leftOut(place, what, why));
    const limited = networks.filter((each) => isRange(each) && !shared.includes(each));
    return limited.length === 0
      ? left
      : [...left, leftOut(place, `${what}: ${limited.join(', ')}`, EXEMPT)];
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
