/** What the supervisor and its workers say to each other. */
import type { MetricObjectWithValues, MetricValue } from 'prom-client';

export type Metrics = MetricObjectWithValues<MetricValue<string>>[];

/** How a worker is. */
export interface Report {
  readonly metrics: Metrics;
  readonly degraded: boolean;
  readonly unseenHeaders: readonly UnseenHeader[];
}

/** A header that no request through a proxy had, as this worker sees it. */
export interface UnseenHeader {
  readonly dialect: string;
  readonly header: string;
  readonly requests: number;
}

export type Order =
  | { readonly order: 'report' }
  | { readonly order: 'reload' }
  /** Has something done for operators, and wants to hear what came of it. */
  | {
      readonly order: 'operate';
      readonly id: number;
      readonly name: string;
      readonly input: unknown;
      /** Who comes to it later leaves it: another has done it. Milliseconds since the epoch. */
      readonly beforeMs: number;
    }
  /** Comes with a connection, which the worker takes or leaves. */
  | { readonly order: 'connection'; readonly port: string }
  /** Has callers go elsewhere with their next request. */
  | { readonly order: 'drain' }
  /** Goes on answering for so long, and ends. */
  | { readonly order: 'stop'; readonly drainMs: number };

/** What came of it: something to send on, or why it could not be done. */
export type Outcome =
  | { readonly result: unknown }
  | { readonly failure: { readonly code: string; readonly message: string } };

/** How a worker found its store when it started. */
export type StoreFound = 'counts' | 'refuses' | 'unreachable';

export type News =
  | { readonly news: 'operated'; readonly id: number; readonly outcome: Outcome }
  /** It can answer, and found its store so. */
  | { readonly news: 'ready'; readonly store: StoreFound }
  /** Whether it took the connection; if not, it takes no other either. */
  | { readonly news: 'connection'; readonly isTaken: boolean }
  | { readonly news: 'report'; readonly report: Report };
