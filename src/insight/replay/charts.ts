/** What the page of a replay draws, besides the report. Plain data. */
export interface ReplayCharts {
  readonly policies: readonly PolicyChart[];
  readonly limits: readonly LimitChart[];
}

export interface PolicyChart {
  readonly name: string;
  /** In the order of time; minutes without requests are absent. */
  readonly minutes: readonly MinutePoint[];
}

/** `atMs`: the start of the minute, milliseconds since the epoch. */
export type MinutePoint = readonly [atMs: number, requests: number, denied: number];

/** How high the clients of a limit got: the most units that each asked for within one window. */
export interface LimitChart {
  readonly label: string;
  /** In words: `5 requests per 5 minutes`. */
  readonly allows: string;
  /** Units that can be taken at once. */
  readonly limit: number;
  /** Lowest peak first. */
  readonly peaks: readonly (readonly [peak: number, clients: number])[];
}
