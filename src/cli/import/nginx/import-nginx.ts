/** Carries over `limit_req` of NGINX. Its leaky bucket lets the same requests pass as a token bucket of burst + 1. */
import { readNginxConfig } from '../../proxy-files/nginx-syntax/config.ts';
import { type Directive, everyDirective, named } from '../../proxy-files/nginx-syntax/directive.ts';
import { NginxSyntaxError } from '../../proxy-files/nginx-syntax/syntax-error.ts';
import type { ProxyFiles } from '../../proxy-files/read/proxy-files.ts';
import { type Finding, ImportError, leftOut, note, wrongSource } from '../shared/finding.ts';
import type { ImportedFile, ImportedPolicy, ImportedRules } from '../shared/imported-limit.ts';
import { refuseTooMany } from '../shared/routes.ts';
import { type Level, levelOf, NO_LIMITS, zonesOf } from './limits.ts';
import { locationsOf } from './locations.ts';
import { policiesOfServer } from './policies.ts';
import { realIpOf } from './real-ip.ts';
import { Rules } from './rules.ts';
import { type ServerHosts, serversOf } from './server.ts';
import { variablesOf } from './variables.ts';
import { exemptOf, otherLimits, zoneFindings } from './zone-findings.ts';

export function importNginx(files: ProxyFiles): ImportedFile {
  const { directives, findings } = configurationOf(files);
  const blocks = named(directives, 'http').flatMap(({ block }) => block);
  // A file of one site has no http block.
  const http = blocks.length > 0 ? blocks : directives;
  const every = everyDirective(http);
  const zones = zonesOf(http, variablesOf(every));
  const limits = named(every, 'limit_req');
  if (zones.size === 0 && limits.length === 0) {
    throw wrongSource(
      files.main.name,
      'has no limit_req_zone and no limit_req. Name the nginx.conf that includes the others.',
    );
  }
  const rules = new Rules(zones);
  const collected = serversOf(http);
  const made = policiesOf(collected, { rules, level: levelOf(http, NO_LIMITS) });
  const realIp = realIpOf(every);
  return {
    sources: realIp.sources,
    trustedProxies: realIp.trustedProxies,
    exempt: exemptOf(zones, made.used),
    default: made.whole,
    policies: made.policies,
    findings: [
      ...findings,
      ...collected.flatMap((server) => server.findings),
      ...rules.findings,
      ...made.findings,
      ...realIp.findings,
      ...zoneFindings(zones, made.used),
      ...every.flatMap(otherLimits),
    ],
    limitsFound: limits.length,
  };
}

interface Configuration {
  readonly directives: readonly Directive[];
  readonly findings: readonly Finding[];
}

function configurationOf(files: ProxyFiles): Configuration {
  try {
    const { tree, problems } = readNginxConfig(files);
    const refused = problems.find(({ isUnreadable }) => !isUnreadable);
    if (refused !== undefined) throw new ImportError(refused.place, refused.problem);
    const findings = problems.map(({ place, path, problem }) => {
      const why = `${problem}. If it has limits, import it too, or run the command where NGINX reads it.`;
      return leftOut(place, `include ${path}`, why);
    });
    return { directives: tree, findings };
  } catch (error) {
    if (!(error instanceof NginxSyntaxError)) throw error;
    throw new ImportError(error.place, error.reason);
  }
}

interface MadePolicies {
  readonly whole: ImportedRules | undefined;
  readonly policies: readonly ImportedPolicy[];
  readonly findings: readonly Finding[];
  readonly used: ReadonlyMap<string, readonly string[]>;
}

interface HttpLevel {
  readonly rules: Rules;
  readonly level: Level;
}

function policiesOf(servers: readonly ServerHosts[], { rules, level }: HttpLevel): MadePolicies {
  const used = new Map<string, string[]>();
  const findings: Finding[] = [];
  const policies: ImportedPolicy[] = [];
  const isAlone = servers.length <= 1;
  const catchAll = isAlone ? servers[0] : servers.find((server) => server.isCatchAll);
  const general = catchAll ?? servers[0];
  const locations = general === undefined ? [] : locationsOf(general.directive, level);
  const fallback =
    catchAll === undefined && level.limits.length > 0 ? level : (locations[0]?.level ?? level);
  let whole: ImportedRules | undefined;
  let places = 0;
  const known = new Set<string>();
  const add = (server: ServerHosts, host: string | undefined) => {
    const others = policies.filter(({ match }) => host !== undefined && isWider(match.host, host));
    const options = {
      ...{ rules, host, fallback: host === undefined ? undefined : fallback },
      others: new Set(others.flatMap(({ match }) => match.path ?? [])),
    };
    const all = locationsOf(server.directive, level);
    places += all.length + options.others.size;
    refuseTooMany(places, server.directive.place.file);
    const made = policiesOfServer(all, options);
    if (host === undefined) whole = made.whole;
    policies.push(...made.policies.filter((policy) => !isKnown(policy, known)));
    findings.push(...made.findings);
    for (const [policy, names] of made.zones) {
      const place = 'match' in policy ? (policy.match.path ?? '/*') : 'default';
      const shown = `${host ?? ''}${place}`;
      for (const zone of names) used.set(zone, [...new Set([...(used.get(zone) ?? []), shown])]);
    }
  };
  if (catchAll !== undefined) add(catchAll, undefined);
  else whole = wholeOf(fallback, { rules, used });
  for (const [server, host] of byHost(servers.filter((each) => each !== catchAll)))
    add(server, host);
  if (!isAlone && general !== undefined) findings.push(generalFinding(general, catchAll));
  return { whole, policies, findings, used };
}

/** The same host on two ports has the same policies twice. */
function isKnown({ match, limits, mode }: ImportedPolicy, known: Set<string>): boolean {
  return known.size === known.add(JSON.stringify([match, limits, mode])).size;
}

/** Wildcards first, since their paths matter to the hosts that they match. */
function byHost(servers: readonly ServerHosts[]): [ServerHosts, string][] {
  const all = servers.flatMap((server) =>
    server.hosts.map((host) => [server, host] as [ServerHosts, string]),
  );
  const isNamed = (host: string) => !host.startsWith('*');
  return [
    ...all.filter(([, host]) => !isNamed(host)).sort(([, a], [, b]) => a.length - b.length),
    ...all.filter(([, host]) => isNamed(host)),
  ];
}

function isWider(outer: string | undefined, inner: string): boolean {
  return (
    outer === undefined ||
    (outer.startsWith('*') && inner !== outer && inner.endsWith(outer.slice(1)))
  );
}

interface WholeParts {
  readonly rules: Rules;
  readonly used: Map<string, string[]>;
}

/** The limits of requests for hosts that no policy names. */
function wholeOf(level: Level, { rules, used }: WholeParts): ImportedRules | undefined {
  const made = rules.of(level).at(-1);
  if (made === undefined || made.limits.length === 0) return undefined;
  for (const zone of made.zones) used.set(zone, ['default']);
  return {
    limits: made.limits,
    comments: made.comments,
    ...(level.dryRun ? { mode: 'shadow' } : {}),
  };
}

/** Which server answers hosts that no server names decides what headgate must do with them. */
function generalFinding({ directive }: ServerHosts, catchAll: ServerHosts | undefined): Finding {
  const why =
    catchAll === undefined
      ? 'NGINX answers hosts that no server names by its default server, and headgate applies default to them. Add a server with default_server that returns 444, so that nobody gets around the policies with another host.'
      : 'this server answers hosts that no other server names, so its policies have no host. In headgate a path counts before a host: other hosts have policies for these paths, too.';
  return note(directive.place, 'server', why);
}
