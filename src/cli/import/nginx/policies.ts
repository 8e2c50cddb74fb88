/** Makes policies of servers: one for each location whose limits differ from those around it. */
import { lineText } from '../../proxy-files/file-place.ts';
import { type Finding, leftOut, note } from '../shared/finding.ts';
import type { ImportedPolicy, ImportedRules } from '../shared/imported-limit.ts';
import { ANY_PATH, nearestAround } from '../shared/paths.ts';
import { hasHost, refuseTooMany } from '../shared/routes.ts';
import type { Level } from './limits.ts';
import { type LocationLimits, locationsOf, orderFindings } from './locations.ts';
import type { MethodRules, Rules } from './rules.ts';
import type { ServerHosts } from './server.ts';

export function policiesOf(servers: readonly ServerHosts[], rules: Rules, level: Level): Policies {
  const isAlone = servers.length <= 1;
  const catchAll = isAlone ? servers[0] : servers.find((server) => server.isCatchAll);
  const general = catchAll ?? servers[0];
  const whole = general && locationsOf(general.directive, level)[0]?.level;
  const fallback = catchAll === undefined && level.limits.length > 0 ? level : (whole ?? level);
  const policies = new Policies(rules, level, fallback);
  if (catchAll === undefined) policies.addDefault();
  else policies.add(catchAll, undefined);
  for (const [server, host] of byHost(servers.filter((each) => each !== catchAll))) {
    policies.add(server, host);
  }
  if (!isAlone && general !== undefined) {
    policies.findings.push(generalFinding(general, catchAll));
  }
  return policies;
}

class Policies {
  /** Applies to requests that no policy names. Undefined if they are not limited. */
  whole: ImportedRules | undefined;
  readonly list: ImportedPolicy[] = [];
  readonly findings: Finding[] = [];
  /** The paths of the policies that count in a zone, by its name. */
  readonly used = new Map<string, Set<string>>();
  readonly #rules: Rules;
  readonly #http: Level;
  readonly #fallback: Level;
  readonly #known = new Set<string>();
  #places = 0;

  /** `fallback` holds for requests that no policy matches. */
  constructor(rules: Rules, http: Level, fallback: Level) {
    this.#rules = rules;
    this.#http = http;
    this.#fallback = fallback;
  }

  addDefault(): void {
    const rules = this.#rules.of(this.#fallback).at(-1);
    if (rules !== undefined && rules.limits.length > 0) this.#setDefault(rules, this.#fallback);
  }

  add({ directive }: ServerHosts, host: string | undefined): void {
    const wider = this.list.filter(
      ({ match }) => host !== undefined && match.host !== host && hasHost(match.host, host),
    );
    // In headgate a path counts before a host, so this host needs its own policies for these paths.
    const others = new Set(wider.flatMap(({ match }) => match.path ?? []));
    const locations = locationsOf(directive, this.#http);
    this.#places += locations.length + others.size;
    refuseTooMany(this.#places, directive.place.file);
    this.findings.push(...orderFindings(locations));
    const levelAround = (template: string | undefined) =>
      (nearestAround(template, locations) ?? locations[0])?.level;
    const ofServer = host === undefined ? undefined : this.#fallback;
    const templates = new Set<string>();
    for (const [i, location] of locations.entries()) {
      const { template, level, title, place } = location;
      const around = i === 0 ? ofServer : levelAround(template);
      const isNeeded = template !== undefined && others.has(template);
      if (!isNeeded && around !== undefined && isSame(level, around)) continue;
      if (template === undefined) this.findings.push(leftOut(place, title, whyUnnamed(title)));
      else if (!templates.has(template)) this.#addAt(template, location, host);
      if (template !== undefined) templates.add(template);
    }
    for (const template of others) {
      const around = nearestAround(template, locations) ?? locations[0];
      if (!templates.has(template) && around !== undefined) this.#addAt(template, around, host);
    }
  }

  #addAt(template: string, { level, title, place }: LocationLimits, host: string | undefined) {
    const path = template === ANY_PATH ? undefined : template;
    for (const rules of this.#rules.of(level)) {
      const { methods, limits, comments, zones } = rules;
      const isOff = limits.length === 0;
      if (path === undefined && host === undefined && methods === undefined) {
        if (!isOff) this.#setDefault(rules, level);
        continue;
      }
      for (const zone of zones) this.#use(zone, `${host ?? ''}${template}`);
      const name = isOff ? `unlimited-${path ?? host ?? 'other'}` : (zones[0] ?? 'limit');
      const policy: ImportedPolicy = {
        name,
        match: { methods, host, path },
        limits,
        mode: isOff ? 'off' : modeAt(level),
        comments: isOff ? [`${title}, ${lineText(place)}: not limited`] : comments,
        place,
      };
      // The same host on two ports has the same policies twice.
      const key = JSON.stringify([policy.match, limits, policy.mode]);
      if (!this.#known.has(key)) this.list.push(policy);
      this.#known.add(key);
    }
  }

  #setDefault({ limits, comments, zones }: MethodRules, level: Level): void {
    this.whole = { limits, comments, mode: modeAt(level) };
    for (const zone of zones) this.#use(zone, 'default');
  }

  #use(zone: string, place: string): void {
    const places = this.used.get(zone) ?? new Set();
    this.used.set(zone, places.add(place));
  }
}

function modeAt({ dryRun }: Level): 'shadow' | undefined {
  return dryRun ? 'shadow' : undefined;
}

/** Wildcards first, since their paths matter to the hosts that they match. */
function byHost(servers: readonly ServerHosts[]): [ServerHosts, string][] {
  const all = servers.flatMap((server) =>
    server.hosts.map((host): [ServerHosts, string] => [server, host]),
  );
  const isNamed = ([, host]: [ServerHosts, string]) => !host.startsWith('*');
  return [
    ...all.filter((each) => !isNamed(each)).sort(([, a], [, b]) => a.length - b.length),
    ...all.filter(isNamed),
  ];
}

function isSame(a: Level, b: Level): boolean {
  const limitsOf = ({ limits }: Level) =>
    JSON.stringify(limits.map(({ zone, burst }) => [zone, burst]));
  if (a.limits.length === 0 && b.limits.length === 0) return true;
  return a.dryRun === b.dryRun && limitsOf(a) === limitsOf(b);
}

function whyUnnamed(title: string): string {
  return title.startsWith('location @')
    ? 'headgate sees the path that the client sent, and NGINX comes to this location later. Write policies for the paths that you mean.'
    : 'a policy file has paths such as /login, /users/:id and /files/*. headgate applies the policy of the path around it. Write policies for the paths that you mean.';
}

function generalFinding({ directive }: ServerHosts, catchAll: ServerHosts | undefined): Finding {
  const why =
    catchAll === undefined
      ? 'NGINX answers hosts that no server names by its default server, and headgate applies default to them. Add a server with default_server that returns 444, so that nobody gets around the policies with another host.'
      : 'this server answers hosts that no other server names, so its policies have no host. In headgate a path counts before a host: other hosts have policies for these paths, too.';
  return note(directive.place, 'server', why);
}
