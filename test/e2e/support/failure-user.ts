/** What a client behind a proxy gets for a request, in the words of docs/failure-modes.md. */
import { call } from '../../support/http.ts';
import type { Upstream } from '../../support/upstream.ts';

export interface Experience {
  readonly status: string;
  readonly application: string;
  /** Whether there are numbers of a limit. */
  readonly numbers: string;
  readonly mode: string;
  readonly retryAfter: string;
  readonly mark: string;
}

/** The limit of the tests. Its window is longer than any test. */
export const LIMIT = 2;
export const WINDOW_SECONDS = 3_600;
/** A test that takes longer has failed anyway. */
const MOST_OF_WINDOW_SECONDS = WINDOW_SECONDS - 120;

let requests = 0;

export async function experience(
  url: string,
  upstream: Upstream,
  path: string,
  client: string,
): Promise<{ seen: Experience; tookMs: number }> {
  const target = `${path}?request=${requests++}`;
  const startedMs = performance.now();
  const { status, headers } = await call(url, target, { headers: { 'X-Api-Key': client } });
  const tookMs = performance.now() - startedMs;
  const arrived = upstream.seen.find((request) => request.url === target);
  const seen: Experience = {
    status: String(status),
    application: arrived === undefined ? 'not reached' : 'reached',
    numbers: numbersIn(headers['x-ratelimit-limit']),
    mode: headers['x-ratelimit-mode']?.toString() ?? 'none',
    retryAfter: retryAfterIn(headers['retry-after']),
    mark: markIn(headers['x-ratelimit-bypass'], arrived?.headers),
  };
  return { seen, tookMs };
}

type Field = string | string[] | undefined;

function numbersIn(limit: Field): string {
  if (limit === undefined) return 'no';
  return limit === String(LIMIT) ? 'yes' : `of another limit, ${limit}`;
}

function retryAfterIn(seconds: Field): string {
  if (seconds === undefined) return 'none';
  const isTruth = Number(seconds) > MOST_OF_WINDOW_SECONDS && Number(seconds) <= WINDOW_SECONDS;
  return isTruth ? 'until a request is allowed' : String(seconds);
}

const MARKS_FOR_APPLICATIONS = {
  'x-envoy-auth-failure-mode-allowed': 'x-envoy-auth-failure-mode-allowed',
  'x-ratelimit-bypass': 'X-RateLimit-Bypass',
};

function markIn(bypass: Field, arrived: Readonly<Record<string, Field>> = {}): string {
  if (bypass !== undefined) return `X-RateLimit-Bypass: ${bypass}`;
  const marks = Object.entries(MARKS_FOR_APPLICATIONS)
    .filter(([field]) => arrived[field] !== undefined)
    .map(([field, name]) => `${name}: ${arrived[field]}, seen by the application only`);
  return marks.join(' ') || 'none';
}

/** Half of what a patient proxy waits: an answer that waited for a timeout takes longer. */
const AT_ONCE_MS = 5_000;
/** Timers of two programs differ by so much. */
const EARLY_MS = 5;
/** A busy machine delays answers. */
const LATE_MS = 10_000;

export function isInTime(said: string, tookMs: number): boolean {
  if (said === 'at once') return tookMs < AT_ONCE_MS;
  const waitMs = Number(/^after (\d+) ms/.exec(said)?.[1]);
  return tookMs > waitMs - EARLY_MS && tookMs < waitMs + LATE_MS;
}
