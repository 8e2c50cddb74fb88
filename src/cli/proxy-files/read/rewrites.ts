import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import type { PolicyEntry, ValidFile } from '../../../gateway/config/policy-file/valid-file.ts';
import { found } from './catalog.ts';
import { changesItself, type PathChange, sourcesOf } from './path-change.ts';
import { type Hosts, type PathPolicies, type PathPolicy, pathPolicies } from './path-policies.ts';

export interface Rewrite {
  readonly what: string;
  readonly place: string;
  readonly hosts: Hosts;
  /** Undefined if the application names the new path, which may be any. */
  readonly change: PathChange | undefined;
  readonly sent: readonly string[];
  /** Undefined if the file does not tell whether requests with this path get to the line. */
  isApplied(path: string): boolean | undefined;
  /** True if the application also gets this path from clients that send it, or no client can send it. */
  isServed(path: string): boolean;
  readonly becomesGet?: boolean;
}

/** Changes by one line are one finding: `try_files` may lead to several paths. */
export function rewriteFindings(rewrites: readonly Rewrite[], file: ValidFile): Diagnostic[] {
  const known = new Map<string, PathPolicies>();
  const lines = Map.groupBy(rewrites, ({ hosts, place, what }) => `${hosts} ${place} ${what}`);
  return [...lines.values()].flatMap((all) => {
    const [first] = all;
    if (first === undefined) return [];
    const { what, place, hosts } = first;
    const policies = known.get(String(hosts)) ?? pathPolicies(file, hosts);
    known.set(String(hosts), policies);
    const names = policies.named
      .filter(({ entry, paths }) =>
        paths.some((path) => all.some((each) => isAvoided({ entry, path }, each, policies))),
      )
      .map(({ entry }) => entry.name);
    if (names.length === 0) return [];
    const noun = names.length === 1 ? 'policy' : 'policies';
    const problem = `${what} changes the path after headgate has checked it, so ${noun} ${names.join(', ')} can be avoided`;
    return [found('path-rewritten', place, problem)];
  });
}

function isAvoided(
  { entry, path }: PathPolicy,
  rewrite: Rewrite,
  { policiesFor }: PathPolicies,
): boolean {
  const { change, sent, becomesGet = false } = rewrite;
  if (change === undefined) return true;
  if (becomesGet && !allowsGet(entry)) return false;
  if (!policiesFor(path).some((each) => each.entry === entry)) return false;
  const sources = sourcesOf(change, path, sent).filter((each) => rewrite.isApplied(each) !== false);
  if (sources.every((each) => policiesFor(each).some((other) => isAsGood(other, entry))))
    return false;
  // A policy for a path that the line changes is for what clients send.
  if (rewrite.isApplied(path) !== false && changesItself(change, path)) return false;
  return rewrite.isServed(path);
}

/** The same policy, one with the same limits, or one that somebody wrote for this path. */
function isAsGood({ entry: other, path }: PathPolicy, entry: PolicyEntry): boolean {
  const limits = ({ limits, plans }: PolicyEntry) => JSON.stringify([limits, plans]);
  return other === entry || !path.endsWith('*') || limits(other) === limits(entry);
}

function allowsGet({ match }: PolicyEntry): boolean {
  const methods = match?.method ?? [];
  return methods.length === 0 || methods.includes('GET') || methods.includes('HEAD');
}
