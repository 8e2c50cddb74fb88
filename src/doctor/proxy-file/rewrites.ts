/** Rewrites after which the application gets another path than headgate checks. */
import { type DoctorFinding, found } from '../catalog.ts';

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
