/** Shares an answer between callers, so that many open pages cost a gateway little more than one. */

export interface SharingOptions {
  /** How old a shared answer may be, milliseconds. */
  readonly forMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** While this is the same object, an answer may be shared. */
  readonly basis: () => unknown;
}

export function sharedAnswer<T>(
  make: () => Promise<T>,
  { forMs, now, basis }: SharingOptions,
): () => Promise<T> {
  let last:
    | { readonly answer: Promise<T>; readonly madeMs: number; readonly basis: unknown }
    | undefined;
  return () => {
    const nowMs = now();
    const from = basis();
    if (last !== undefined && last.basis === from) {
      // The clock may have been set back.
      if (Math.abs(nowMs - last.madeMs) < forMs) return last.answer;
    }
    const made = { answer: make(), madeMs: nowMs, basis: from };
    last = made;
    made.answer.catch(() => {
      if (last === made) last = undefined;
    });
    return made.answer;
  };
}
