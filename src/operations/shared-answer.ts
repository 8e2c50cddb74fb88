/** Shares an answer between callers, so that many open pages cost a gateway little more than one. */

export interface SharingOptions {
  /** How old a shared answer may be, milliseconds. */
  readonly forMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export function sharedAnswer<T>(
  make: () => Promise<T>,
  { forMs, now }: SharingOptions,
): () => Promise<T> {
  let last: { readonly answer: Promise<T>; readonly madeMs: number } | undefined;
  return () => {
    const nowMs = now();
    // The clock may have been set back.
    if (last !== undefined && Math.abs(nowMs - last.madeMs) < forMs) return last.answer;
    const made = { answer: make(), madeMs: nowMs };
    last = made;
    made.answer.catch(() => {
      if (last === made) last = undefined;
    });
    return made.answer;
  };
}
