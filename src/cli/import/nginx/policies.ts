/** Makes policies of servers: one for each set of requests whose limits differ from those around it. */
import type { Directive } from '../../proxy-files/nginx-syntax/directive.ts';
import { type Finding, note } from '../shared/finding.ts';
import type { ImportedPolicy, ImportedRules } from '../shared/imported-limit.ts';
import type { Answer } from '../shared/limited-route.ts';
import { ANY_PATH } from '../shared/paths.ts';
import { narrowness } from '../shared/request-set.ts';
import { policiesOfRoutes, refuseTooMany } from '../shared/routes.ts';
import { levelOf, NO_LIMITS, signatureOf } from './limits.ts';
import { inOrder, type Location } from './locations.ts';
import { type NginxRoute, RouteReader } from './routes.ts';
import type { Rules } from './rules.ts';
import { answering, type Server, serversOf } from './server.ts';

export interface NginxPolicies {
  /** Applies to requests that no policy names. Undefined if they are not limited. */
  readonly whole: ImportedRules | undefined;
  readonly list: readonly ImportedPolicy[];
  readonly findings: readonly Finding[];
  /** The paths of the policies that count in a zone, by its name. */
  readonly used: ReadonlyMap<string, ReadonlySet<string>>;
}

export function policiesOf(http: readonly Directive[], rules: Rules): NginxPolicies {
  const level = levelOf(http, NO_LIMITS);
  const servers = serversOf(http, level);
  const reader = new RouteReader(servers, rules);
  const routes = servers.flatMap((server) => {
    const own = reader.routesOf(server);
    refuseTooMany(own.length, server.location.place.file);
    return own;
  });
  const known = remembered((host) => answering(servers, host === '' ? undefined : host));
  const around = rules.of(level).at(-1);
  const made = policiesOfRoutes(routes, {
    fallback: around !== undefined && around.limits.length > 0 ? signatureOf(level) : '',
    order: (matching, { host = '' }) => orderOf(known(host), matching),
  });
  const isWhole = ({ set }: Answer<NginxRoute>) =>
    set.host === undefined && set.methods === undefined && set.template === ANY_PATH;
  const whole = made.made.find(({ answer }) => isWhole(answer))?.policy ?? around;
  const used = new Map<string, Set<string>>();
  const use = (zones: readonly string[], place: string) => {
    for (const zone of zones) used.set(zone, (used.get(zone) ?? new Set()).add(place));
  };
  for (const { answer } of made.made) {
    const place = isWhole(answer) ? 'default' : `${answer.set.host ?? ''}${answer.set.template}`;
    use(
      answer.limited.flatMap(({ zones }) => zones),
      place,
    );
  }
  if (whole === around && around !== undefined) use(around.zones, 'default');
  const policies = made.made.filter(({ answer }) => !isWhole(answer));
  return {
    whole: whole === undefined || whole.limits.length === 0 ? undefined : rulesAlone(whole),
    list: policies.map(({ policy, answer }) => named(policy, answer)),
    findings: [
      ...servers.flatMap((server) => server.findings),
      ...reader.findings,
      ...made.findings,
      ...generalFindings(servers),
    ],
    used,
  };
}

function remembered<T>(find: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const value = known.get(text) ?? find(text);
    known.set(text, value);
    return value;
  };
}

function rulesAlone({ limits, comments, mode }: ImportedRules): ImportedRules {
  return { limits, comments, mode };
}

function named(policy: ImportedPolicy, { set, limited }: Answer<NginxRoute>): ImportedPolicy {
  const path = set.template === ANY_PATH ? undefined : set.template;
  const zone = limited[0]?.zones[0] ?? 'limit';
  const name = policy.mode === 'off' ? `unlimited-${path ?? set.host ?? 'other'}` : zone;
  return { ...policy, name, match: { ...policy.match, path } };
}

/** NGINX chooses a server by the host, on each port by itself, and then one of its locations. */
function orderOf(servers: readonly Server[], matching: readonly NginxRoute[]): NginxRoute[][] {
  return servers.flatMap((server) => {
    const own = matching.filter((route) => route.server === server);
    const ofLocation = (location: Location) => own.filter((route) => route.location === location);
    const rewrites = (location: Location) =>
      ofLocation(location).filter(({ isRewrite }) => isRewrite);
    const plain = (location: Location) => {
      const routes = ofLocation(location).filter(({ isRewrite }) => !isRewrite);
      return routes.sort((a, b) => narrowness(b) - narrowness(a)).slice(0, 1);
    };
    const locations = inOrder(server.location, (each) => plain(each).length > 0);
    const inside = locations.filter(({ kind }) => kind !== 'server');
    const all = [
      ...rewrites(server.location),
      ...inside.flatMap((each) => [...rewrites(each), ...plain(each)]),
      ...plain(server.location),
    ];
    return all.map((route) => [route]);
  });
}

const GENERAL =
  'this server answers hosts that no other server names, so its policies have no host. In headgate a path counts before a host: other hosts have policies for these paths, too.';

function generalFindings(servers: readonly Server[]): Finding[] {
  if (servers.filter(({ answersItself }) => !answersItself).length < 2) return [];
  return answering(servers, undefined).map(({ location }) =>
    note(location.place, 'server', GENERAL),
  );
}
