import { lineText, placeText } from '../../proxy-files/file-place.ts';
import type { ProxyFiles, ProxyText } from '../../proxy-files/read/proxy-files.ts';
import { approximate, type Finding, leftOut, wrongSource } from '../shared/finding.ts';
import type { ImportedFile, ImportedLimit } from '../shared/imported-limit.ts';
import { suggestedLimit } from '../shared/rates.ts';
import {
  type LimitedRoute,
  notLimited,
  orderFindings,
  policiesOfRoutes,
  splitFinding,
} from '../shared/routes.ts';
import { readDocuments } from '../shared/yaml-node.ts';
import { kubernetesParts } from './custom-resources.ts';
import { labelParts } from './labels.ts';
import { matchesOf } from './matches.ts';
import { dynamicParts, type Middleware, type Router } from './parts.ts';
import { type RateLimit, rateLimitOf } from './rate-limit.ts';

export function importTraefik({ main: source }: ProxyFiles): ImportedFile {
  refuseToml(source);
  const documents = readDocuments(source);
  const parts = [
    ...documents.flatMap((each) => [dynamicParts(each), labelParts(each)]),
    kubernetesParts(documents),
  ];
  const middlewares = parts.flatMap((each) => each.middlewares);
  const routers = parts.flatMap((each) => each.routers);
  const limiters = new Map(
    middlewares.filter(({ kind }) => kind === 'ratelimit').map((each) => [each, rateLimitOf(each)]),
  );
  if (limiters.size === 0) {
    const message =
      'has no rateLimit middleware. Name the dynamic configuration, the Kubernetes objects, or the compose file that has it.';
    throw wrongSource(source.name, message);
  }
  const reader = new RouterReader(middlewares, limiters);
  const routes = routers.flatMap((router) => reader.routesOf(router));
  const { policies, counts } = policiesOfRoutes(routes);
  const values = [...limiters.values()];
  const prefixes = values.flatMap(({ ipv6Prefix }) => ipv6Prefix ?? []);
  return {
    trustedProxies: values.flatMap(({ trustedProxies = [] }) => trustedProxies),
    ipv6Prefix: prefixes.length === 0 ? undefined : Math.min(...prefixes),
    policies,
    findings: [
      ...values.flatMap(({ findings }) => findings),
      ...reader.findings,
      ...orderFindings(routes, 'Traefik'),
      ...routers.flatMap((router) => sharedRouter(router, counts)),
      ...middlewares.flatMap((each) =>
        notCarried(each, reader.used.has(each), limiters.get(each)?.limit),
      ),
    ],
    limitsFound: limiters.size,
  };
}

/** headgate has no reader of TOML. */
function refuseToml({ name, text }: ProxyText): void {
  const head =
    /^[ \t]*\[{1,2}[ \t]*(?:http|tcp|entryPoints|providers)\b[\w." \t-]*\]{1,2}[ \t\r]*$/m.exec(
      text,
    );
  if (head === null && !name.endsWith('.toml')) return;
  const message =
    'is TOML, which headgate does not read. Write it as YAML: both have the same keys, and Traefik reads either.';
  throw wrongSource(name, message);
}

class RouterReader {
  readonly findings: Finding[] = [];
  readonly used = new Set<Middleware>();
  readonly #byName: ReadonlyMap<string, readonly Middleware[]>;
  readonly #limiters: ReadonlyMap<Middleware, RateLimit>;

  constructor(middlewares: readonly Middleware[], limiters: ReadonlyMap<Middleware, RateLimit>) {
    this.#limiters = limiters;
    this.#byName = Map.groupBy(middlewares, ({ name }) => name);
  }

  /** A route for each way in which the rule of the router matches. Each router has its own buckets. */
  routesOf(router: Router): LimitedRoute[] {
    const { name, place, rule } = router;
    const used = this.#limitersOf(router.middlewares);
    const limits = used.flatMap((each): ImportedLimit[] => {
      this.used.add(each);
      const limit = this.#limiters.get(each)?.limit;
      return limit === undefined ? [] : [limit];
    });
    const matches = matchesOf(rule);
    if (typeof matches === 'string') {
      const why = `${matches}. Write a policy for the requests that you mean.`;
      if (limits.length > 0) this.findings.push(leftOut(place, `router ${name}`, why));
      return [];
    }
    const ignored = matches.flatMap((match) => match.ignored);
    if (limits.length > 0) this.#noteRule(router, ignored);
    // Without a priority, the longest rule wins.
    const weight = rule.length;
    const where = `router ${name}, ${lineText(place)}`;
    const comment = `from rateLimit ${used.map((each) => each.name).join(', ')} of ${where}`;
    const isLimited = limits.length > 0;
    const rules = isLimited ? { limits, comments: [comment] } : notLimited(where);
    const owner = isLimited ? ownerOf(router) : '';
    return matches.map((match) => ({ ...match, owner, name, weight, rules, place }));
  }

  #noteRule({ name, place, hasPriority }: Router, ignored: readonly string[]): void {
    const what = `router ${name}`;
    if (ignored.length > 0) {
      const why = `a policy file cannot have ${[...new Set(ignored)].join(', ')}. The policy applies to requests whether this holds or not.`;
      this.findings.push(approximate(place, what, why));
    }
    if (hasPriority) {
      const why =
        'Traefik chooses routers by priority, and headgate chooses the policy with the most specific path, then host, then method. Check requests that several routers match.';
      this.findings.push(approximate(place, what, why));
    }
  }

  /** Each middleware once, also where chains name each other. */
  #limitersOf(names: readonly string[], seen = new Set<string>()): Middleware[] {
    return names.flatMap((name) => {
      if (seen.has(name)) return [];
      seen.add(name);
      return (this.#byName.get(name) ?? []).flatMap((each) => {
        if (each.kind === 'chain') return this.#limitersOf(each.chain, seen);
        return this.#limiters.has(each) ? [each] : [];
      });
    });
  }
}

function ownerOf({ name, place }: Router): string {
  return `${name} ${placeText(place)}`;
}

function sharedRouter(router: Router, counts: ReadonlyMap<string, number>): Finding[] {
  const { name, place } = router;
  const together = 'Traefik counts all requests of a router';
  const own = counts.get(ownerOf(router)) ?? 0;
  return splitFinding({ place, what: `router ${name}`, together }, own);
}

function notCarried(
  { kind, name, place }: Middleware,
  isUsed: boolean,
  limit: ImportedLimit | undefined,
): Finding[] {
  if (kind === 'inflightreq') {
    const why =
      'headgate counts requests, and not requests at the same time. Keep this middleware.';
    return [leftOut(place, `inFlightReq ${name}`, why)];
  }
  if (kind !== 'ratelimit' || isUsed) return [];
  const suggested = limit === undefined ? '' : `, with ${suggestedLimit(limit)}`;
  const why = `no router of this file uses it. If an entry point or a router elsewhere does, write a policy for it${suggested}.`;
  return [leftOut(place, `rateLimit ${name}`, why)];
}
