import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import { type FindingId, found } from '../catalog.ts';
import { type Reply, send, type Target } from './request.ts';

/** Clients may claim to be somebody else by these headers. The addresses are of networks for documentation. */
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
  readonly costs?: ReadonlySet<number> | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

type Said = readonly [id: FindingId, problem: string];

/** Sends two requests without a claim, more if the second takes too many units, one with all claims and one after it, and two for each claim. */
export async function* throughFindings(options: ThroughOptions): AsyncGenerator<Diagnostic> {
  for await (const [id, problem] of whatClientsSee(options))
    yield found(id, options.target.url.href, problem);
}

async function* whatClientsSee({ target, costs, now }: ThroughOptions): AsyncGenerator<Said> {
  const first = await send(target);
  if (first instanceof Error) {
    yield ['no-answer', first.message];
    return;
  }
  const differenceMs = Math.abs((first.date ?? now()) - now());
  const seconds = Math.round(differenceMs / 1_000);
  if (differenceMs > CLOCK_TOLERANCE_MS)
    yield ['clock-differs', `the Date header is ${seconds} s away from this clock`];
  if (first.hasSettleToken) yield ['settle-token-shown', 'the answer has X-Headgate-Settle'];
  const obstacle = obstacleOf(first);
  if (obstacle !== undefined) {
    yield obstacle;
    return;
  }
  const second = await send(target);
  if (second instanceof Error) return;
  const trouble = obstacleOf(second);
  if (trouble !== undefined) {
    yield trouble;
    return;
  }
  const [before, after] = [first.remaining ?? 0, second.remaining ?? 0];
  if (after >= before) {
    yield ['not-counted', `X-RateLimit-Remaining was ${before}, and ${after} afterwards`];
    return;
  }
  if (costs !== undefined) yield* costFindings(target, { before, after }, costs);
  const fresh = await freshClaims(target, after);
  for (const name of fresh)
    yield ['spoofed-address', `with an invented ${name}, a client has a fresh limit`];
  if (fresh.length > 0) return;
  yield [
    'through',
    `status ${first.status}; ${first.limit} requests by X-RateLimit-Limit, ${before} remained, then ${after}; invented addresses change nothing`,
  ];
}

/** Says why nothing more can be learned. Returns undefined if headgate has counted the request. */
function obstacleOf(reply: Reply): Said | undefined {
  const { status, bypass, mode, limit, remaining } = reply;
  if (bypass !== undefined) return ['gateway-unreachable', `X-RateLimit-Bypass: ${bypass}`];
  if (reply.isUnavailable) return ['gateway-unreachable', 'status 503 of the part of headgate'];
  if (mode === 'open' || mode === 'local') return ['store-down', `X-RateLimit-Mode: ${mode}`];
  if (status === 500 && remaining === 0 && limit !== undefined)
    return ['answered-500', 'status 500 as soon as no request remains'];
  if (status === 429 && limit !== undefined)
    return ['denied-now', `status 429; try again in ${reply.retryAfter ?? 'some'} seconds`];
  if (limit !== undefined) return undefined;
  const problem = `status ${status} without X-RateLimit-Limit`;
  if (status === 500) return ['answered-500', problem];
  if (status === 403 && reply.isDenial)
    return ['client-refused', 'status 403 with X-RateLimit-Decision-Id'];
  if (status === 403) return ['answered-403', problem];
  return [status === 401 || status === 503 ? 'answered-by-site' : 'not-limited', problem];
}

/** Returns the claims that give a client another limit. `remaining` is what it had left without a claim. */
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
/** One of them could be the request of another client with this address. */
const LEAST_MEASURES = 3;

/**
 * `before` and `after` remained after two requests in a row. A rewritten request may have the policy of another path, so
 * the cost of every policy is a right one.
 */
async function* costFindings(
  target: Target,
  { before, after }: { readonly before: number; readonly after: number },
  costs: ReadonlySet<number>,
): AsyncGenerator<Said> {
  const isWrong = (taken: number) => taken > Math.min(...costs) && !costs.has(taken);
  let least = before - after;
  let left = after;
  let measures = 1;
  for (; measures <= REPEATS && isWrong(least); measures++) {
    const reply = await send(target);
    if (reply instanceof Error || reply.status === 429 || reply.remaining === undefined) break;
    least = Math.min(least, left - reply.remaining);
    left = reply.remaining;
  }
  if (measures >= LEAST_MEASURES && isWrong(least))
    yield [
      'counted-twice',
      `each of ${measures} requests lowered X-RateLimit-Remaining by ${least} or more, and no policy has the cost ${least}`,
    ];
}
