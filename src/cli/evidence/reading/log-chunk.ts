/** Bytes of a log: whole lines, but for the end of the log. */
export interface LogChunk {
  /** The index of the source. */
  readonly source: number;
  /** In memory of its own: its buffer may be transferred to a thread. */
  readonly bytes: Uint8Array;
  /** Whether this source has no more. */
  readonly isLast: boolean;
}

/** Longer lines are counted as misread, and cut: they are never in memory as a whole. */
export const MAX_LINE_BYTES = 65_536;
