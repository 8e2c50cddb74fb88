export interface Backoff {
  readonly initialMs: number;
  readonly maxMs: number;
  /** 0 to 1: which share of each wait is random, so that many clients do not return at the same moment. */
  readonly randomFactor: number;
}

/**
 * The numbers are those of envoyproxy/ratelimit (`XDS_CLIENT_BACKOFF_*` in src/settings/settings.go, f2fb157). There the
 * factor multiplies each wait, so the waits never grow. Here they double.
 */
export const RECONNECTION: Backoff = { initialMs: 10_000, maxMs: 60_000, randomFactor: 0.5 };

/**
 * The wait before the reply to a response that brings nothing new, except for the first. After each NACK, control planes made with
 * go-control-plane send what was refused again at once (pkg/cache/v3/simple.go of v0.14.1, createResponse: the version of
 * the NACK is not theirs), and nothing else before the next reply. Seen with Envoy Gateway 1.9.1.
 */
export const REPETITION: Backoff = { initialMs: 1_000, maxMs: 10_000, randomFactor: 0 };

/** 2^16 times any wait is longer than the maximum. */
const LARGEST_EXPONENT = 16;

/** `failed` counts the failures before this one. `random` is at least 0 and less than 1. */
export function waitAfter(backoff: Backoff, failed: number, random: number): number {
  const { initialMs, maxMs, randomFactor } = backoff;
  const longest = Math.min(maxMs, initialMs * 2 ** Math.min(failed, LARGEST_EXPONENT));
  return Math.round(longest * (1 - randomFactor * random));
}
