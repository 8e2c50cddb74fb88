/** Rewrites after which the application gets another path than headgate checks. */
import type { ValidFile } from '../../config/policy-file/compile.ts';
import { type DoctorFinding, found } from '../catalog.ts';
import type { PathChange } from './path-change.ts';
import { pathPolicies } from './unchecked-paths.ts';

export interface Rewrite {
  /** The line: `rewrite ^/old/(.*) /login last`. */
  readonly what: string;
  /** `nginx.conf:12` */
  readonly place: string;
  /** The policies for the new path that do not apply to the old one. */
  readonly policies: readonly string[];
}

export function rewriteFindings(rewrites: readonly Rewrite[]): DoctorFinding[] {
  return rewrites.map(({ what, place, policies }) => {
    const names = policies.join(', ');
    const noun = policies.length === 1 ? 'policy' : 'policies';
    const problem = `${what} changes the path after headgate has checked it, so ${noun} ${names} can be avoided`;
    return found('path-rewritten', place, problem);
  });
}

interface RewritingLine {
  readonly change: PathChange;
  /** Whether the line applies to requests with this path. Undefined: the file does not say. */
  isApplied(path: string): boolean | undefined;
  /** Whether the same application may get this path from clients that send it. */
  isServed(path: string): boolean;
  /** Paths that clients send to get to the line, as far as it names some. */
  readonly sent: readonly string[];
}

/** The names of the policies for a new path that do not apply to the path that clients send. */
export function avoidedPolicies(file: ValidFile, line: RewritingLine): string[] {
  const { named, appliesTo } = pathPolicies(file, { hosts: undefined });
  const isWildcard = (name: string) =>
    file.entries.find((entry) => entry.name === name)?.match?.path?.endsWith('*') ?? false;
  // A policy that someone wrote for the path that clients send is as good as this one.
  const isLimited = (path: string, own: string) =>
    named.some(({ name }) => (name === own || !isWildcard(name)) && appliesTo(path, name));
  const isAvoided = (path: string, own: string) => {
    const { change, isApplied, isServed, sent } = line;
    if (change.isWhole ? path !== change.head : !path.startsWith(change.head)) return false;
    // A policy for a path that this line changes is for the path that clients send.
    if (isApplied(path) !== false && change.changes(path) !== false) return false;
    if (!isServed(path)) return false;
    const before = change.before(path);
    const sources = (before === undefined ? sent : [before]).filter(
      (each) => isApplied(each) !== false,
    );
    // Without a source, no client can send such a path, or the file does not say which ones can.
    if (sources.length === 0) return before === undefined;
    return sources.some((each) => !isLimited(each, own));
  };
  return named
    .filter(({ name, paths }) => paths.some((path) => isAvoided(path, name)))
    .map(({ name }) => name);
}
