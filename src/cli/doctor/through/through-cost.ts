/** Whether a request takes more units than the policy file says. */
import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import { found } from '../catalog.ts';
import { ask, type Target } from './through-answer.ts';

export const REPEATS = 4;
/** One could be the request of another client with this address. */
const LEAST_MEASURES = 3;

/**
 * `before` and `after`: what remained after two requests in a row. `costs`: those of all policies. A rewritten request may
 * have the policy of another path, so the cost of each policy is a right one.
 */
export async function* costFindings(
  target: Target,
  { before, after }: { readonly before: number; readonly after: number },
  costs: ReadonlySet<number>,
): AsyncGenerator<Diagnostic> {
  const isWrong = (taken: number) => taken > Math.min(...costs) && !costs.has(taken);
  let least = before - after;
  let left = after;
  let measures = 1;
  for (; measures <= REPEATS && isWrong(least); measures++) {
    const answer = await ask(target);
    if (answer instanceof Error || answer.status === 429 || answer.remaining === undefined) break;
    least = Math.min(least, left - answer.remaining);
    left = answer.remaining;
  }
  if (measures >= LEAST_MEASURES && isWrong(least))
    yield found(
      'counted-twice',
      target.url.href,
      `each of ${measures} requests lowered X-RateLimit-Remaining by ${least} or more, and no policy has the cost ${least}`,
    );
}
