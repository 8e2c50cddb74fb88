/** What the supervisor and its workers say to each other. */
import type { AddressInfo } from 'node:net';
import type { MetricObjectWithValues, MetricValue } from 'prom-client';

export type Metrics = MetricObjectWithValues<MetricValue<string>>[];

/** How a worker is. */
export interface Report {
  readonly metrics: Metrics;
  readonly degraded: boolean;
}

export type Order =
  | { readonly order: 'report' }
  | { readonly order: 'reload' }
  /** Goes on answering for so long, and ends. */
  | { readonly order: 'stop'; readonly drainMs: number };

export type News =
  /** Where it answers proxies. */
  | { readonly news: 'listening'; readonly check: AddressInfo | string }
  | { readonly news: 'report'; readonly report: Report };
