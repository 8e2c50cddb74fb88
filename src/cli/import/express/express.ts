/** Carries over express-rate-limit from the source of an application, which is read and never run. */
import { type Finding, ImportError } from '../shared/finding.ts';
import type { ImportedFile, ImportedMatch, ImportedPolicy } from '../shared/imported-limit.ts';
import { suggestedLimit } from '../shared/limit-text.ts';
import { ANY_PATH, covers } from '../shared/paths.ts';
import { refuseTooMany } from '../shared/routes.ts';
import { lineText, type Source } from '../shared/source.ts';
import { importedNames } from './imports.ts';
import { limiterCalls } from './limiters.ts';
import { constantsOf } from './literals.ts';
import { type Prefixes, prefixesOf } from './mounts.ts';
import { OptionReader, type ReadLimiter } from './options.ts';
import { templatesOfPath } from './paths.ts';
import { Program } from './program.ts';
import { type Registration, registrationsIn } from './registrations.ts';
import { scan } from './scan.ts';

export function importExpress(source: Source): ImportedFile {
  const program = new Program(scan(source.text, source.name), source.text);
  const calls = limiterCalls(program, importedNames(program));
  if (calls.length === 0) {
    const message =
      'has no call of rateLimit from express-rate-limit. Name the file that imports the package and calls it.';
    throw new ImportError({ file: source.name, line: 1, column: 1 }, message);
  }
  refuseTooMany(calls.length, source.name);
  const reader = new OptionReader(program, constantsOf(program));
  const limiters = calls.map((call) => reader.read(call));
  const registrations = registrationsIn(program);
  const prefixes = prefixesOf(program, registrations);
  const firstRoutes = new Map<string, Registration>();
  for (const each of registrations.toReversed()) {
    if (each.verb !== 'use' && each.paths !== undefined) firstRoutes.set(each.receiver, each);
  }
  const context = { registrations, firstRoutes, prefixes };
  const made = limiters.map((limiter) => policiesOf(limiter, context));
  const policies = made.flatMap((each) => each.policies);
  refuseTooMany(policies.length, source.name);
  const prefix = limiters.flatMap(({ ipv6Prefix }) => ipv6Prefix ?? []);
  return {
    sources: [],
    trustedProxies: [],
    ipv6Prefix: prefix.length === 0 ? undefined : Math.min(...prefix),
    exempt: [],
    default: undefined,
    policies: whereNeeded(policies),
    findings: [
      ...limiters.flatMap(({ findings }) => findings),
      ...made.flatMap(({ findings }) => findings),
      ...proxyFindings(program),
    ],
    limitsFound: calls.filter(({ kind }) => kind === 'limiter').length,
  };
}

interface Context {
  readonly registrations: readonly Registration[];
  /** By receiver: the first registration for a path that is none of `use`. */
  readonly firstRoutes: ReadonlyMap<string, Registration>;
  readonly prefixes: Prefixes;
}

interface Made {
  readonly policies: readonly ImportedPolicy[];
  readonly findings: readonly Finding[];
}

function policiesOf({ call, limit }: ReadLimiter, context: Context): Made {
  if (limit === undefined) return { policies: [], findings: [] };
  const { name, span, place } = call;
  const what = name ?? 'rateLimit';
  const inside = context.registrations.findLast(
    (each) => each.span.from < span.from && span.to <= each.span.to,
  );
  const byName = context.registrations.filter(
    (each) => name !== undefined && each !== inside && each.names.includes(name),
  );
  const used = inside === undefined ? byName : [inside, ...byName];
  if (used.length === 0) {
    const why = `no app.use, router.post or the like in this file uses it. Write a policy for its requests, with ${suggestedLimit(limit)}.`;
    return { policies: [], findings: [{ place, kind: 'left-out', what, why }] };
  }
  const findings: Finding[] = [];
  const seen = new Set<string>();
  const policies = used.flatMap((each) =>
    matchesOf(each, { ...context, findings }).flatMap((match): ImportedPolicy[] => {
      const key = JSON.stringify(match);
      if (seen.size === seen.add(key).size) return [];
      const comments = [`from ${what}, ${lineText(place)}, used in ${lineText(each.place)}`];
      const title = (name ?? nameOf(match)).replace('.', '-');
      return [{ name: title, match, limits: [limit], comments, place: each.place }];
    }),
  );
  if (policies.length > 1) {
    const why = `Express counts all requests of this limiter together, and headgate counts each of its ${policies.length} policies by itself. A client gets the limit in each of them.`;
    findings.push({ place, kind: 'approximate', what, why });
  }
  return { policies, findings };
}

function nameOf({ path = 'all', methods }: ImportedMatch): string {
  return [...(methods ?? []), path.replaceAll(/[/*:]+/g, ' ').trim()].join(' ').trim() || 'all';
}

interface MatchContext extends Context {
  readonly findings: Finding[];
}

function matchesOf(registration: Registration, context: MatchContext): ImportedMatch[] {
  const { receiver, verb, paths, place } = registration;
  const { prefixes, findings } = context;
  const isOpen = verb === 'use';
  const what = `${receiver}.${verb}`;
  if (prefixes.isLoose(receiver)) {
    const why =
      'this file does not say where the router is mounted. Write the path of the mount before the path of the policy.';
    findings.push({ place, kind: 'approximate', what, why });
  }
  if (isOpen && paths === undefined) noteLate(registration, context);
  const methods = isOpen || verb === 'all' ? undefined : [verb.toUpperCase()];
  return prefixes.of(receiver).flatMap((prefix) =>
    (paths ?? [{ text: '/', isRegex: false, written: '/' }]).flatMap((path) => {
      const templates = templatesOfPath({ prefix, path, isOpen: isOpen || paths === undefined });
      if (templates === undefined) {
        const why =
          'a policy file has literal paths such as /login, /users/:id and /files/*. Write policies for the paths that you mean.';
        findings.push({ place, kind: 'left-out', what: `${what}(${path.written})`, why });
        return [];
      }
      return templates.map((template) => ({
        ...(methods === undefined ? {} : { methods }),
        ...(template === ANY_PATH ? {} : { path: template }),
      }));
    }),
  );
}

/** Express runs middlewares in the order of their registration. */
function noteLate(
  { receiver, span, place }: Registration,
  { firstRoutes, findings }: MatchContext,
): void {
  const earlier = firstRoutes.get(receiver);
  if (earlier === undefined || earlier.span.from > span.from) return;
  const why = `Express does not limit routes that are registered before it, such as ${earlier.paths?.[0]?.written ?? ''} in line ${earlier.place.line}. headgate counts them too. If they need no limit, write this policy for the paths that need it.`;
  findings.push({ place, kind: 'approximate', what: `${receiver}.use`, why });
}

/** In Express every limiter on the way of a request counts it. In headgate that is so for policies with always. */
function whereNeeded(policies: readonly ImportedPolicy[]): ImportedPolicy[] {
  return policies.map((policy) => {
    const { match = {} } = policy;
    const isForAll = Object.keys(match).length === 0;
    const isAlone = policies.every(
      (other) =>
        other === policy ||
        Object.keys(other.match ?? {}).length === 0 ||
        !overlap(match, other.match ?? {}),
    );
    return !isForAll && isAlone ? policy : { ...policy, always: true };
  });
}

function overlap(a: ImportedMatch, b: ImportedMatch): boolean {
  const methods =
    a.methods === undefined ||
    b.methods === undefined ||
    a.methods.some((method) => b.methods?.includes(method));
  return methods && (covers(a.path, b.path) || covers(b.path, a.path));
}

/** app.set('trust proxy', 1) */
function proxyFindings(program: Program): Finding[] {
  return program.tokens.flatMap((token, i): Finding[] => {
    const isSetting =
      token.kind === 'text' && token.text === 'trust proxy' && program.name(i - 2) === 'set';
    if (!isSetting) return [];
    const why =
      'headgate trusts networks, and does not count hops. Name the networks of the proxies before yours in identity.trusted_proxies.';
    return [{ place: token.place, kind: 'approximate', what: "app.set('trust proxy')", why }];
  });
}
