import { lineText, placeText } from '../../proxy-files/file-place.ts';
import type { ProxyFiles, ProxyText } from '../../proxy-files/read/proxy-files.ts';
import { type Finding, leftOut, wrongSource } from '../shared/finding.ts';
import type { ImportedFile, ImportedLimit } from '../shared/imported-limit.ts';
import { isLimitName } from '../shared/limit-words.ts';
import type { LimitedRoute } from '../shared/limited-route.ts';
import { suggestedLimit } from '../shared/rates.ts';
import { splitFinding } from '../shared/route-findings.ts';
import { notLimited, policiesByOwner, policiesOfRoutes } from '../shared/routes.ts';
import { readDocuments } from '../shared/yaml-node.ts';
import { kubernetesParts } from './custom-resources.ts';
import { labelParts } from './labels.ts';
import { matchesOf } from './matches.ts';
import { isOtherLimit, otherMiddleware } from './other-middlewares.ts';
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
  const others = middlewares.filter(isOtherLimit);
  if (limiters.size === 0 && others.length === 0) {
    const message =
      'has no rateLimit middleware. Name the dynamic configuration, the Kubernetes objects, or the compose file that has it.';
    throw wrongSource(source.name, message);
  }
  const reader = new RouterReader(middlewares, limiters);
  const hasEntries = new Set(routers.map(({ entry }) => entry)).size > 1;
  const routes = routers
    .flatMap((router) => reader.routesOf(router))
    .map((route) => (hasEntries ? route : { ...route, entry: undefined }));
  const made = policiesOfRoutes(routes);
  const counts = policiesByOwner(made);
  const values = [...limiters.values()];
  const prefixes = values.flatMap(({ ipv6Prefix }) => ipv6Prefix ?? []);
  return {
    trustedProxies: values.flatMap(({ trustedProxies = [] }) => trustedProxies),
    ipv6Prefix: prefixes.length === 0 ? undefined : Math.min(...prefixes),
    policies: made.made.map(({ policy }) => policy),
    findings: [
      ...values.flatMap(({ findings }) => findings),
      ...reader.findings,
      ...made.findings,
      ...routers.flatMap((router) => sharedRouter(router, counts)),
      ...middlewares.flatMap((each) =>
        notCarried(each, reader.used.has(each), limiters.get(each)?.limit),
      ),
      ...others.map(otherMiddleware),
    ],
    limitsFound: limiters.size + others.length,
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
    const { name, place, rule, entry } = router;
    const { used, isLeftOut: isUnknown } = this.#limitersOf(router);
    const limits = used.flatMap((each): ImportedLimit[] => {
      this.used.add(each);
      const limit = this.#limiters.get(each)?.limit;
      return limit === undefined ? [] : [limit];
    });
    const isLimited = limits.length > 0;
    const { matches, leftOut: reasons } = matchesOf(rule, isLimited);
    for (const reason of reasons) {
      const why = `${reason}. Write a policy for the requests that you mean.`;
      this.findings.push(leftOut(place, `router ${name}`, why));
    }
    const where = `router ${name}, ${lineText(place)}`;
    const comment = `from rateLimit ${used.map((each) => each.name).join(', ')} of ${where}`;
    const rules = isLimited ? { limits, comments: [comment] } : notLimited(where);
    const owner = isLimited ? ownerOf(router) : '';
    const rank = [rankOf(router)];
    const isLeftOut = !isLimited && (isUnknown || used.some((each) => this.#isLimiting(each)));
    const route = { entry, owner, name, title: `router ${name}`, rank, isLeftOut, rules, place };
    return matches.map((match) => ({ ...match, ...route }));
  }

  /** A limiter whose average is 0 limits nothing. */
  #isLimiting(each: Middleware): boolean {
    return this.#limiters.get(each)?.isUnlimited !== true;
  }

  /** Each middleware once, also where chains name each other. */
  #limitersOf({ name: router, place, middlewares }: Router) {
    const seen = new Set<string>();
    const used: Middleware[] = [];
    let isLeftOut = false;
    const pending = [...middlewares];
    for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
      if (seen.has(name)) continue;
      seen.add(name);
      const known = this.#byName.get(name) ?? [];
      if (known.length === 0) {
        isLeftOut = true;
        if (isLimitName(name) || /limit/i.test(name))
          this.findings.push(leftOut(place, `middleware ${name} of router ${router}`, ELSEWHERE));
      }
      pending.unshift(...known.flatMap(({ chain, kind }) => (kind === 'chain' ? chain : [])));
      used.push(...known.filter((each) => this.#limiters.has(each)));
      isLeftOut ||= known.some(isOtherLimit);
    }
    return { used, isLeftOut };
  }
}

const ELSEWHERE =
  'it is not in this file. Import the file that has it, or write a policy with its limit.';

/** The highest priority wins. Without one, the longest rule has the highest. */
function rankOf({ priority, rule }: Router): number {
  return Number(priority?.trim()) || rule.length;
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
