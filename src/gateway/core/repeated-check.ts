/** Counts a request once, though NGINX checks it again for internal redirects and Envoy for retries. */
import type { Check } from './check.ts';
import type { Decision } from './counting/decision.ts';

const REPEATED_WITHIN_MS = 2_000;
/** UUIDs have 36 characters, NGINX's 32. */
const MAX_ID_LENGTH = 64;
/** At most twice as many are kept, of a few hundred bytes each. If more arrive in two seconds, the oldest are dropped. */
const MAX_IDS = 20_000;

interface First {
  readonly atMs: number;
  readonly decision: Decision | Promise<Decision>;
}

/** Works in this process only: another gateway that gets the same id counts the request again. */
export function countOnce(check: Check): Check {
  // The older half is dropped as a whole, so expired decisions need no search.
  let newer = new Map<string, First>();
  let older = new Map<string, First>();
  let newerSinceMs = 0;

  return (request, set, nowMs) => {
    const { requestId } = request;
    if (requestId === undefined || requestId.length > MAX_ID_LENGTH) {
      return check(request, set, nowMs);
    }
    const first = newer.get(requestId) ?? older.get(requestId);
    if (first !== undefined && isRecent(first.atMs, nowMs)) {
      return repeat(first.decision, () => check(request, set, nowMs));
    }
    if (newer.size >= MAX_IDS || !isRecent(newerSinceMs, nowMs)) {
      older = newer;
      newer = new Map();
      newerSinceMs = nowMs;
    }
    const decision = check(request, set, nowMs);
    newer.set(requestId, { atMs: nowMs, decision });
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
