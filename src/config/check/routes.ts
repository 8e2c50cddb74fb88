/** Policies that are asked about less than their author thinks: never, or not for every spelling of their path. */
import { METHODS } from 'node:http';
import { type Policy, strictestOf } from '../../core/policy.ts';
import type { PolicySet } from '../../core/policy-set.ts';
import { hint } from '../closest-word.ts';
import type { PolicyEntry } from '../policy-file/policy-schema.ts';
import type { Remark } from '../unplaced-diagnostic.ts';
import type { Path } from '../yaml-text.ts';
import { type Sample, samplesOf } from './route-samples.ts';
import { simpleSpellingsOf } from './spellings.ts';

/** About a second's work. */
const MOST_TRIED = 500;

export function adviceOnRoutes(entries: readonly PolicyEntry[], policySet: PolicySet): Remark[] {
  const left = entries.length - MOST_TRIED;
  const remarks = entries
    .slice(0, MOST_TRIED)
    .flatMap((entry, i) => adviceOnRoute(entry, ['policies', i], entries, policySet));
  if (left > 0) {
    const message = `the last ${left} policies were not tried with other spellings`;
    remarks.push({ rule: 'policies-not-tried', path: ['policies', MOST_TRIED], message });
  }
  return remarks;
}

function adviceOnRoute(
  entry: PolicyEntry,
  at: Path,
  entries: readonly PolicyEntry[],
  policySet: PolicySet,
): Remark[] {
  const unsent = unsentMethods(entry, [...at, 'match', 'method']);
  if (unsent.length > 0) return unsent;
  const policy = policySet.policies.find(({ name }) => name === entry.name);
  if (policy === undefined) return [];
  const samples = samplesOf(entry, entries);
  const matching = samples.find((sample) => policiesFor(policySet, sample).includes(policy));
  return matching === undefined
    ? [neverMatched(samples, at, policySet)]
    : [
        ...laxSpellings(matching, policy, at, policySet),
        ...uncoveredPathInfo(matching, { entry, policy, at, entries, policySet }),
      ];
}

function unsentMethods({ match }: PolicyEntry, at: Path): Remark[] {
  const isList = Array.isArray(match?.method);
  return [match?.method ?? []].flat().flatMap((method, i) => {
    if (METHODS.includes(method)) return [];
    const message = `no client sends ${method}${hint(method, METHODS)}`;
    return [{ rule: 'method-never-sent', path: isList ? [...at, i] : at, message }];
  });
}

function neverMatched(samples: readonly Sample[], at: Path, policySet: PolicySet): Remark {
  const others = new Set(
    samples.flatMap((sample) => policiesFor(policySet, sample)[0]?.name ?? []),
  );
  const message = `never matches: its requests are held to ${quoted([...others])}`;
  return { rule: 'policy-never-matches', path: [...at, 'match'], message };
}

/** Spellings of a path that some server takes for it, and that only a laxer policy is asked about. */
function laxSpellings(sample: Sample, policy: Policy, at: Path, policySet: PolicySet): Remark[] {
  const lax = simpleSpellingsOf(sample.path).flatMap((target) => {
    const applied = policiesFor(policySet, { ...sample, target });
    const isLax = applied.length > 0 && !applied.includes(policy) && isLaxer(applied, policy);
    return isLax ? [{ target, applied }] : [];
  });
  const [example] = lax;
  if (example === undefined) return [];
  const message =
    `${lax.length} spellings of its path are held to laxer policies alone: "${example.target}" to ` +
    `${quoted(example.applied.map(({ name }) => name))}, should the application take it for the same`;
  return [{ rule: 'lax-spelling', path: [...at, 'match', 'path'], message }];
}

/** Files that servers execute, and hand whatever stands behind their name in a path. */
const EXECUTABLE =
  /\.(php\d?|phtml|phar|cgi|fcgi|pl|py|rb|asp|aspx|ashx|asmx|axd|svc|jspx?|do|action|cfm|cfc)$/i;

interface TriedRoute {
  readonly entry: PolicyEntry;
  readonly policy: Policy;
  readonly at: Path;
  readonly entries: readonly PolicyEntry[];
  readonly policySet: PolicySet;
}

/** `/login.php/x` runs `/login.php` as well, so it must not fall to another policy. */
function uncoveredPathInfo(
  sample: Sample,
  { entry, policy, at, entries, policySet }: TriedRoute,
): Remark[] {
  const written = entry.match?.path ?? '/*';
  if (!EXECUTABLE.test(sample.path) || written.endsWith('*')) return [];
  const applied = policiesFor(policySet, { ...sample, target: `${sample.target}/x` });
  const hasOther = entries.some(({ match }) => match?.path === `${written}/*`);
  if (applied.includes(policy) || (hasOther && !isLaxer(applied, policy))) return [];
  const message =
    `servers run it for "${sample.target}/x" too, which is held to ${quoted(applied.map(({ name }) => name))}: ` +
    `write "${written}/*", which also matches "${written}"`;
  return [{ rule: 'path-info', path: [...at, 'match', 'path'], message }];
}

/** Whether what is left of a policy by its strictest rival admits more requests over time. */
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
