/** How a decision was answered, and what a line of the log says of it. */

export interface Answered {
  readonly dialect: string;
  readonly durationMs: number;
}

/** Microseconds are told, and no less. */
export function answeredFields({ dialect, durationMs }: Answered) {
  return { dialect, duration_ms: Math.round(durationMs * 1000) / 1000 };
}
