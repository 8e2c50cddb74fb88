/** What differs between zones of NGINX and policies of headgate. */
import { type Directive, directiveText } from '../../proxy-files/nginx-syntax/directive.ts';
import { approximate, type Finding, leftOut, note } from '../shared/finding.ts';
import type { ExemptEntry } from '../shared/imported-limit.ts';
import type { Zone } from './limits.ts';
import { exemptNetworks } from './real-ip.ts';

export function zoneFindings(
  zones: ReadonlyMap<string, Zone>,
  used: ReadonlyMap<string, readonly string[]>,
): Finding[] {
  return [...sharedZones(zones, used), ...exemptFindings(zones, used)];
}

function sharedZones(
  zones: ReadonlyMap<string, Zone>,
  used: ReadonlyMap<string, readonly string[]>,
): Finding[] {
  return [...used].flatMap(([name, policies]) => {
    const zone = zones.get(name);
    if (zone === undefined || policies.length < 2) return [];
    const why = `NGINX counts all requests of this zone together, and headgate counts each policy by itself: ${policies.slice(0, 8).join(', ')}${policies.length > 8 ? ' and more' : ''}. A client gets the limit in each of them.`;
    return [approximate(zone.directive.place, directiveText(zone.directive), why)];
  });
}

function usedZones(zones: ReadonlyMap<string, Zone>, used: ReadonlyMap<string, unknown>): Zone[] {
  return [...zones.values()].filter(({ name }) => used.has(name));
}

function networksOf({ meaning }: Zone): readonly string[] {
  return typeof meaning === 'string' ? [] : meaning.exempt;
}

export function exemptOf(
  zones: ReadonlyMap<string, Zone>,
  used: ReadonlyMap<string, unknown>,
): ExemptEntry[] {
  const byNetwork = new Map<string, string>();
  for (const zone of usedZones(zones, used)) {
    for (const network of exemptNetworks(networksOf(zone))) {
      if (!byNetwork.has(network)) byNetwork.set(network, `not limited by the zone ${zone.name}`);
    }
  }
  return [...byNetwork].map(([address, comment]) => ({ address, comment }));
}

function exemptFindings(
  zones: ReadonlyMap<string, Zone>,
  used: ReadonlyMap<string, unknown>,
): Finding[] {
  const all = usedZones(zones, used);
  const lists = new Set(all.map((zone) => networksOf(zone).join()));
  return all.flatMap((zone) => {
    const networks = networksOf(zone);
    const at = { place: zone.directive.place, what: directiveText(zone.directive) };
    const odd = networks.filter((network) => !exemptNetworks(networks).includes(network));
    const left: Finding[] = odd.map((network) =>
      leftOut(
        at.place,
        at.what,
        `"${network}" cannot be exempt in a policy file. Name a narrower network.`,
      ),
    );
    if (lists.size < 2 || networks.length === 0) return left;
    const why =
      'NGINX exempts these networks from this zone alone. "exempt" of the policy file exempts them from every limit.';
    return [...left, approximate(at.place, at.what, why)];
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
