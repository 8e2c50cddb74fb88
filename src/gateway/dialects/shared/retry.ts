/** When a denied request can be repeated. */
import type { AnswerStyle } from '../../core/answer-style.ts';
import type { Decision } from '../../core/counting/decision.ts';
import { fnv1a32 } from '../../core/fnv1a.ts';

export interface Wait {
  /** Whole ones, at least 1. */
  readonly seconds: number;
  /** No more than `seconds`. */
  readonly ms: number;
}

/** Never too early. Undefined if no retry can succeed. Jitter depends only on the client and the limit. */
export function waitAfter(
  { binding }: Decision,
  { retryAfterJitterSeconds: spread }: AnswerStyle,
): Wait | undefined {
  if (binding === undefined) return WITHOUT_COUNTS;
  if (binding.isNeverMet) return undefined;
  const { key, state } = binding;
  const jitter = spread === 0 ? 0 : fnv1a32(key) % (spread + 1);
  const ms = Math.max(1, Math.ceil(state.retryAfterMs));
  return { seconds: Math.ceil(ms / 1_000) + jitter, ms: ms + jitter * 1_000 };
}

/** If nothing can be counted now, counting may work again at any moment. */
const WITHOUT_COUNTS: Wait = { seconds: 1, ms: 1_000 };

/** Some clients of OpenAI ignore a longer wait than this, and repeat the request at once. */
const LONGEST_TOLD_MS = 60_000;

/** Headers that clients of OpenAI and Anthropic read beside Retry-After. `X-Should-Retry: false` wins over all others. */
export function retryHints(wait: Wait | undefined): readonly string[] {
  const after = wait === undefined ? [] : ['Retry-After-Ms', String(wait.ms)];
  const isWorthwhile = wait !== undefined && wait.ms <= LONGEST_TOLD_MS;
  return isWorthwhile ? after : [...after, 'X-Should-Retry', 'false'];
}
