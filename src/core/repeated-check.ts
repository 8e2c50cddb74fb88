/**
 * Counts a request once that is asked about twice: NGINX asks again for every redirect within it, Envoy when it tries
 * again. Who asks under an id that its proxy made up gets the first decision again, for two seconds.
 */
import type { Check } from './check.ts';
import type { Decision } from './decision.ts';

const AGAIN_WITHIN_MS = 2_000;
/** UUIDs have 36 characters, NGINX's 32. */
const MAX_ID_LENGTH = 64;
/** Twice as many are kept at most, of some hundred bytes each. With more than that in two seconds, the oldest go. */
const IDS = 20_000;

interface First {
  readonly atMs: number;
  readonly decision: Decision | Promise<Decision>;
}

/** Only in this process: another gateway that is asked under the same id counts. */
export function countOnce(check: Check): Check {
  // Two halves, the older of which is let go as a whole: nothing is looked for that is over.
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
      return again(first.decision, () => check(request, set, nowMs));
    }
    if (newer.size >= IDS || !isRecent(newerSinceMs, nowMs)) {
      older = newer;
      newer = new Map();
      newerSinceMs = nowMs;
    }
    const decision = check(request, set, nowMs);
    newer.set(requestId, { atMs: nowMs, decision });
    return decision;
  };
}

/** Also false when the clock was set back. */
function isRecent(atMs: number, nowMs: number): boolean {
  const ageMs = nowMs - atMs;
  return ageMs >= 0 && ageMs < AGAIN_WITHIN_MS;
}

/** What failed was not decided: whoever tries again is not told so again. */
function again(
  first: Decision | Promise<Decision>,
  anew: () => Decision | Promise<Decision>,
): Decision | Promise<Decision> {
  return first instanceof Promise ? first.then(repeated, anew) : repeated(first);
}

function repeated(decision: Decision): Decision {
  return { ...decision, isRepeated: true };
}
