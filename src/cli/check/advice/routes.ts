/** Advice on policies that match fewer requests than their author probably thinks. */
import { hint } from '../../../gateway/config/closest-word.ts';
import type { DiagnosticDraft, Path } from '../../../gateway/config/diagnostic.ts';
import type { PolicyEntry } from '../../../gateway/config/policy-file/valid-file.ts';
import { type PolicySet, strictestOf } from '../../../gateway/core/matching/policy-set.ts';
import type { Policy } from '../../../gateway/core/policy.ts';
import { METHODS, type Sample, samplesOf } from './route-samples.ts';
import { simpleSpellingsOf } from './spellings.ts';

/** Testing these takes about a second. */
const MAX_TRIED = 500;

export function adviceOnRoutes(
  entries: readonly PolicyEntry[],
  policySet: PolicySet,
): DiagnosticDraft[] {
  const left = entries.length - MAX_TRIED;
  const advice = entries
    .slice(0, MAX_TRIED)
    .flatMap((entry, i) => adviceOnRoute({ entry, at: ['policies', i], entries, policySet }));
  if (left > 0) {
    const message = `the last ${left} policies were not tested for matches and spellings`;
    advice.push({ rule: 'policies-not-tried', path: ['policies', MAX_TRIED], message });
  }
  return advice;
}

interface Route {
  readonly entry: PolicyEntry;
  readonly at: Path;
  readonly entries: readonly PolicyEntry[];
  readonly policySet: PolicySet;
}

function adviceOnRoute(route: Route): DiagnosticDraft[] {
  const { entry, at, entries, policySet } = route;
  const unsent = unsentMethods(entry, [...at, 'match', 'method']);
  if (unsent.length > 0) return unsent;
  const policy = policySet.policies.find(({ name }) => name === entry.name);
  if (policy === undefined) return [];
  const samples = samplesOf(entry, entries);
  const matching = samples.find((sample) => policiesFor(policySet, sample).includes(policy));
  if (matching === undefined) return [neverMatched(samples, at, policySet)];
  const tried = { ...route, policy, sample: matching };
  return [...laxSpellings(tried), ...uncoveredPathInfo(tried), ...rootOnly(route)];
}

function unsentMethods({ match }: PolicyEntry, at: Path): DiagnosticDraft[] {
  const isList = Array.isArray(match?.method);
  return [match?.method ?? []].flat().flatMap((method, i) => {
    if (METHODS.includes(method)) return [];
    const message = `no client sends ${method}${hint(method, METHODS)}`;
    return [{ rule: 'method-never-sent', path: isList ? [...at, i] : at, message }];
  });
}

function neverMatched(samples: readonly Sample[], at: Path, policySet: PolicySet): DiagnosticDraft {
  const others = new Set(
    samples.flatMap((sample) => policiesFor(policySet, sample)[0]?.name ?? []),
  );
  const message = `never matches: its requests get ${quoted([...others])}`;
  return { rule: 'policy-never-matches', path: [...at, 'match'], message };
}

interface TriedRoute extends Route {
  readonly policy: Policy;
  readonly sample: Sample;
}

/** Spellings that some servers treat as the same path, and that only laxer policies match. */
function laxSpellings({ sample, policy, at, policySet }: TriedRoute): DiagnosticDraft[] {
  const lax = simpleSpellingsOf(sample.path).flatMap((target) => {
    const applied = policiesFor(policySet, { ...sample, target });
    const isLax = applied.length > 0 && !applied.includes(policy) && isLaxer(applied, policy);
    return isLax ? [{ target, applied }] : [];
  });
  const [example] = lax;
  if (example === undefined) return [];
  const others = quoted(example.applied.map(({ name }) => name));
  const message = `only laxer policies match ${lax.length} other spellings of this path: "${example.target}" gets ${others}, and the application may treat it as the same path`;
  return [{ rule: 'lax-spelling', path: [...at, 'match', 'path'], message }];
}

/** Extensions of files that servers execute. They pass the rest of the path to the program. */
const EXECUTABLE =
  /\.(php\d?|phtml|phar|cgi|fcgi|pl|py|rb|asp|aspx|ashx|asmx|axd|svc|jspx?|do|action|cfm|cfc)$/i;

/** `/login.php/x` executes `/login.php` too, so another policy must not match it. */
function uncoveredPathInfo(route: TriedRoute): DiagnosticDraft[] {
  const { entry, at, entries, policySet, policy, sample } = route;
  const written = entry.match?.path ?? '/*';
  if (!EXECUTABLE.test(sample.path) || written.endsWith('*')) return [];
  const applied = policiesFor(policySet, { ...sample, target: `${sample.target}/x` });
  const hasOther = entries.some(({ match }) => match?.path === `${written}/*`);
  if (applied.includes(policy) || (hasOther && !isLaxer(applied, policy))) return [];
  const others = quoted(applied.map(({ name }) => name));
  const message = `servers execute it for "${sample.target}/x" too, which gets ${others}: write "${written}/*", which also matches "${written}"`;
  return [{ rule: 'path-info', path: [...at, 'match', 'path'], message }];
}

/** An author who also writes `/*` knows the difference. */
function rootOnly({ entry, at, entries }: Route): DiagnosticDraft[] {
  const paths = entries.map(({ match }) => match?.path);
  if (entry.match?.path !== '/' || paths.includes('/*')) return [];
  const message = 'matches the home page alone, write "/*" if you mean every path';
  return [{ rule: 'root-path-only', path: [...at, 'match', 'path'], message }];
}

function isLaxer(applied: readonly Policy[], policy: Policy): boolean {
  return strictestOf([...applied, policy]) === policy;
}

function policiesFor(
  policySet: PolicySet,
  { method, host, target }: Omit<Sample, 'path'>,
): readonly Policy[] {
  return policySet.policiesFor({ method, host, target, policy: undefined, missing: [] });
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(' and ');
}
