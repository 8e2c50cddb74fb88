/** Advice on policies that match fewer requests than their author probably thinks. */
import { hint } from '../../../gateway/config/closest-word.ts';
import type { DiagnosticDraft, Path } from '../../../gateway/config/diagnostic.ts';
import { routesOf, type WrittenRoute } from '../../../gateway/config/policy-file/match.ts';
import type { PolicyEntry } from '../../../gateway/config/policy-file/valid-file.ts';
import type { PolicySet } from '../../../gateway/core/matching/policy-set.ts';
import { strictestOf } from '../../../gateway/core/matching/strictest.ts';
import type { Policy } from '../../../gateway/core/policy.ts';
import { METHODS, type Sample, samplesOf } from './route-samples.ts';
import { simpleSpellingsOf } from './spellings.ts';

/** Testing these takes about a second. */
const MAX_TRIED = 500;

export function adviceOnRoutes(
  entries: readonly PolicyEntry[],
  policySet: PolicySet,
): DiagnosticDraft[] {
  const routes = entries.map((entry) => routesOf(entry, true));
  const all = routes.flat();
  const advice: DiagnosticDraft[] = [];
  let tried = 0;
  for (const [i, entry] of entries.entries()) {
    const own = routes[i] ?? [];
    tried += own.length;
    if (tried > MAX_TRIED) {
      const message = `the last ${entries.length - i} policies were not tested for matches and spellings`;
      return [...advice, { rule: 'policies-not-tried', path: ['policies', i], message }];
    }
    advice.push(...adviceOnPolicy(entry, own, { at: ['policies', i], all, policySet }));
  }
  return advice;
}

interface Context {
  /** Where the policy stands. */
  readonly at: Path;
  /** The routes of all policies. */
  readonly all: readonly WrittenRoute[];
  readonly policySet: PolicySet;
}

function adviceOnPolicy(
  entry: PolicyEntry,
  routes: readonly WrittenRoute[],
  context: Context,
): DiagnosticDraft[] {
  const { at, all, policySet } = context;
  const unsent = unsentMethods(entry, [...at, 'match', 'method']);
  if (unsent.length > 0) return unsent;
  const policy = policySet.policies.find(({ name }) => name === entry.name);
  if (policy === undefined) return [];
  const preflights = withoutPreflights(entry, [...at, 'match', 'method']);
  // The calls of one path to an MCP server are tried together.
  const others = [...Map.groupBy(routes, ({ written }) => written).values()].flatMap((ofPath) => {
    const [route] = ofPath as [WrittenRoute];
    const samples = ofPath.flatMap((each) => samplesOf(each, all));
    const matching = samples.find((sample) => policiesFor(policySet, sample).includes(policy));
    if (matching === undefined) return [neverMatched(samples, route, context)];
    const tried = { ...context, route, policy, sample: matching };
    return [...laxSpellings(tried), ...uncoveredPathInfo(tried), ...rootOnly(tried)];
  });
  return [...preflights, ...others];
}

function withoutPreflights({ match, always }: PolicyEntry, path: Path): DiagnosticDraft[] {
  if (always || ![match?.method].flat().includes('OPTIONS')) return [];
  const message =
    'gets no preflights of browsers: they count for the default, and for policies with always: true';
  return [{ rule: 'options-without-preflights', path, message }];
}

function unsentMethods({ match }: PolicyEntry, at: Path): DiagnosticDraft[] {
  const isList = Array.isArray(match?.method);
  return [match?.method ?? []].flat().flatMap((method, i) => {
    if (METHODS.includes(method)) return [];
    const message = `no client sends ${method}${hint(method, METHODS)}`;
    return [{ rule: 'method-never-sent', path: isList ? [...at, i] : at, message }];
  });
}

function neverMatched(
  samples: readonly Sample[],
  route: WrittenRoute,
  { at, policySet }: Context,
): DiagnosticDraft {
  const others = new Set(
    samples.flatMap((sample) => policiesFor(policySet, sample)[0]?.name ?? []),
  );
  const message = `never matches: its requests get ${quoted([...others])}`;
  const path = [...at, ...(route.isInList ? route.at : ['match'])];
  return { rule: 'policy-never-matches', path, message };
}

interface TriedRoute extends Context {
  readonly route: WrittenRoute;
  readonly policy: Policy;
  readonly sample: Sample;
}

/** Spellings that some servers treat as the same path, and that only laxer policies match. */
function laxSpellings({ sample, policy, at, route, policySet }: TriedRoute): DiagnosticDraft[] {
  const lax = simpleSpellingsOf(sample.path).flatMap((target) => {
    const applied = policiesFor(policySet, { ...sample, target });
    const isLax = applied.length > 0 && !applied.includes(policy) && isLaxer(applied, policy);
    return isLax ? [{ target, applied }] : [];
  });
  const [example] = lax;
  if (example === undefined) return [];
  const others = quoted(example.applied.map(({ name }) => name));
  const message = `only laxer policies match ${lax.length} other spellings of this path: "${example.target}" gets ${others}, and the application may treat it as the same path`;
  return [{ rule: 'lax-spelling', path: [...at, ...route.at], message }];
}

/** Extensions of files that servers execute. They pass the rest of the path to the program. */
const EXECUTABLE =
  /\.(php\d?|phtml|phar|cgi|fcgi|pl|py|rb|asp|aspx|ashx|asmx|axd|svc|jspx?|do|action|cfm|cfc)$/i;

/** `/login.php/x` executes `/login.php` too, so another policy must not match it. */
function uncoveredPathInfo(tried: TriedRoute): DiagnosticDraft[] {
  const { route, at, all, policySet, policy, sample } = tried;
  const { written = '/*' } = route;
  if (!EXECUTABLE.test(sample.path) || written.endsWith('*')) return [];
  const applied = policiesFor(policySet, { ...sample, target: `${sample.target}/x` });
  const hasOther = all.some((each) => each.written === `${written}/*`);
  if (applied.includes(policy) || (hasOther && !isLaxer(applied, policy))) return [];
  const others = quoted(applied.map(({ name }) => name));
  const remedy = route.match.mcp ? 'add a policy for' : 'write';
  const message = `servers execute it for "${sample.target}/x" too, which gets ${others}: ${remedy} "${written}/*", which also matches "${written}"`;
  return [{ rule: 'path-info', path: [...at, ...route.at], message }];
}

/** An author who also writes `/*` knows the difference, and an MCP server may be all that a host has. */
function rootOnly({ route, at, all }: TriedRoute): DiagnosticDraft[] {
  if (route.written !== '/' || route.match.mcp) return [];
  if (all.some(({ written }) => written === '/*')) return [];
  const message = 'matches the home page alone, write "/*" if you mean every path';
  return [{ rule: 'root-path-only', path: [...at, ...route.at], message }];
}

function isLaxer(applied: readonly Policy[], policy: Policy): boolean {
  return strictestOf([...applied, policy]) === policy;
}

function policiesFor(policySet: PolicySet, sample: Omit<Sample, 'path'>): readonly Policy[] {
  return policySet.policiesFor({ ...sample, policy: undefined, missing: [] });
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(' and ');
}
