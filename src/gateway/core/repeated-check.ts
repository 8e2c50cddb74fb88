/** Counts a request once, though a proxy checks it again for internal redirects or retries. */
import type { Check } from './check.ts';
import type { Decision } from './counting/decision.ts';
import { RecentDecisions } from './recent-decisions.ts';

const REPEATED_WITHIN_MS = 2_000;
/** UUIDs have 36 characters, NGINX's 32. */
const MAX_ID_LENGTH = 64;

/** Works in this process only: another gateway that gets the same id counts the request again. */
export function countOnce(check: Check): Check {
  let recent: RecentDecisions | undefined;

  return (request, set, nowMs) => {
    const { requestId } = request;
    if (requestId === undefined || requestId.length > MAX_ID_LENGTH) {
      return check(request, set, nowMs);
    }
    recent ??= new RecentDecisions(REPEATED_WITHIN_MS);
    const first = recent.find(requestId);
    if (first !== undefined && isRecent(first.atMs, nowMs)) {
      return repeat(first.decision, () => check(request, set, nowMs));
    }
    const decision = check(request, set, nowMs);
    recent.add(requestId, { atMs: nowMs, decision });
    return decision;
  };
}

function isRecent(atMs: number, nowMs: number): boolean {
  const ageMs = nowMs - atMs;
  return ageMs >= 0 && ageMs < REPEATED_WITHIN_MS;
}

/** If the first check failed, there is no decision to repeat, so the request is checked again. */
function repeat(
  first: Decision | Promise<Decision>,
  checkAgain: () => Decision | Promise<Decision>,
): Decision | Promise<Decision> {
  return first instanceof Promise ? first.then(repeated, checkAgain) : repeated(first);
}

function repeated(decision: Decision): Decision {
  return { ...decision, isRepeated: true };
}
