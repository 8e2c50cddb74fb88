/** Sends requests to a proxy as a client would, and says what the client sees. */
import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import { found } from '../catalog.ts';
import { type Answer, send, type Target } from './request.ts';

/** Headers by which clients may claim to be somebody else. Addresses of networks for documentation. */
export const CLAIMS: readonly (readonly [name: string, value: string])[] = [
  ['X-Forwarded-For', '203.0.113.77'],
  ['Forwarded', 'for=203.0.113.78'],
  ['X-Real-IP', '203.0.113.79'],
  ['CF-Connecting-IP', '203.0.113.80'],
  ['X-Headgate-Client-IP', '203.0.113.81'],
  ['X-Headgate-Peer-IP', '203.0.113.82'],
];

const CLOCK_TOLERANCE_MS = 5_000;

export interface ThroughOptions {
  readonly target: Target;
  /** Undefined if the policies are not known. */
  readonly costs?: ReadonlySet<number> | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Sends two requests without a claim, more if the second takes too many units, one with all claims and one after it, and two for each claim. */
export async function* throughFindings({
  target,
  costs,
  now,
}: ThroughOptions): AsyncGenerator<Diagnostic> {
  const { url } = target;
  const say = (id: Parameters<typeof found>[0], problem: string) => found(id, url.href, problem);
  const first = await send(target);
  if (first instanceof Error) {
    yield say('no-answer', first.message);
    return;
  }
  yield* clockFindings(url, first, now);
  const obstacle = obstacleOf(url, first);
  if (obstacle !== undefined) {
    yield obstacle;
    return;
  }
  const second = await send(target);
  const trouble = second instanceof Error ? undefined : obstacleOf(url, second);
  if (second instanceof Error || trouble !== undefined) {
    if (trouble !== undefined) yield trouble;
    return;
  }
  const [before, after] = [first.remaining ?? 0, second.remaining ?? 0];
  if (after >= before) {
    yield say('not-counted', `X-RateLimit-Remaining was ${before}, and ${after} afterwards`);
    return;
  }
  if (costs !== undefined) yield* costFindings(target, { before, after }, costs);
  const fresh = await freshClaims(target, after);
  for (const name of fresh)
    yield found(
      'spoofed-address',
      url.href,
      `with an invented ${name}, a client has a fresh limit`,
    );
  if (fresh.length === 0)
    yield say(
      'through',
      `status ${first.status}; ${first.limit} requests by X-RateLimit-Limit, ${before} remained, then ${after}; invented addresses change nothing`,
    );
}

/** Why nothing more can be learned; undefined if headgate has counted the request. */
function obstacleOf(url: URL, answer: Answer): Diagnostic | undefined {
  const { status, bypass, mode, limit, remaining } = answer;
  const say = (id: Parameters<typeof found>[0], problem: string) => found(id, url.href, problem);
  if (bypass !== undefined) return say('gateway-unreachable', `X-RateLimit-Bypass: ${bypass}`);
  if (answer.isUnavailable) return say('gateway-unreachable', 'status 503 of the part of headgate');
  if (mode === 'open' || mode === 'local') return say('store-down', `X-RateLimit-Mode: ${mode}`);
  if (status === 500 && (limit === undefined || remaining === 0))
    return say(
      'answered-500',
      limit === undefined
        ? 'status 500 without X-RateLimit-Limit'
        : 'status 500 as soon as no request remains',
    );
  if (status === 403 && limit === undefined)
    return answer.isDenial
      ? say('client-refused', 'status 403 with X-RateLimit-Decision-Id')
      : say('answered-403', 'status 403 without X-RateLimit-Limit');
  if ((status === 401 || status === 503) && limit === undefined)
    return say('answered-by-site', `status ${status} without X-RateLimit-Limit`);
  if (limit === undefined) return say('not-limited', `status ${status} without X-RateLimit-Limit`);
  if (status === 429)
    return say('denied-now', `status 429; try again in ${answer.retryAfter ?? 'some'} seconds`);
  return undefined;
}

function* clockFindings(url: URL, { date }: Answer, now: () => number): Generator<Diagnostic> {
  if (date === undefined) return;
  const difference = Math.abs(date - now());
  if (difference <= CLOCK_TOLERANCE_MS) return;
  const seconds = Math.round(difference / 1_000);
  yield found('clock-differs', url.href, `the Date header is ${seconds} s away from this clock`);
}

/** The claims that give a client a limit of its own. `remaining` is what the client had left without one. */
async function freshClaims(target: Target, remaining: number): Promise<string[]> {
  let left = remaining;
  const isFresh = async (claims: typeof CLAIMS): Promise<boolean> => {
    const claimed = await send(target, claims);
    const plain = await send(target);
    if (claimed instanceof Error || plain instanceof Error) return false;
    const usual = left;
    left = plain.remaining ?? 0;
    // The client's own limit goes on where it was, so the other one is not the same limit after some time.
    return claimed.remaining !== undefined && claimed.remaining > usual && left < claimed.remaining;
  };
  if (!(await isFresh(CLAIMS))) return [];
  const fresh: string[] = [];
  for (const claim of CLAIMS) if (await isFresh([claim])) fresh.push(claim[0]);
  return fresh.length > 0 ? fresh : ['combination of address headers'];
}

export const REPEATS = 4;
/** One could be the request of another client with this address. */
const LEAST_MEASURES = 3;

/**
 * `before` and `after`: what remained after two requests in a row. `costs`: those of all policies. A rewritten request may
 * have the policy of another path, so the cost of each policy is a right one.
 */
async function* costFindings(
  target: Target,
  { before, after }: { readonly before: number; readonly after: number },
  costs: ReadonlySet<number>,
): AsyncGenerator<Diagnostic> {
  const isWrong = (taken: number) => taken > Math.min(...costs) && !costs.has(taken);
  let least = before - after;
  let left = after;
  let measures = 1;
  for (; measures <= REPEATS && isWrong(least); measures++) {
    const answer = await send(target);
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
