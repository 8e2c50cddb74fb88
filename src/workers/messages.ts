/** What the supervisor and its workers say to each other. */
import type { AddressInfo } from 'node:net';
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
  /** Goes on answering for so long, and ends. */
  | { readonly order: 'stop'; readonly drainMs: number };

/** Where a worker answers proxies, and how it found its store. */
export interface Place {
  readonly store: 'counts' | 'refuses' | 'unreachable';
  /** Or the path of a unix socket. */
  readonly check: AddressInfo | string;
  readonly grpc: AddressInfo | undefined;
}

/** What came of it: something to send on, or why it could not be done. */
export type Outcome =
  | { readonly result: unknown }
  | { readonly failure: { readonly code: string; readonly message: string } };

export type News =
  | { readonly news: 'operated'; readonly id: number; readonly outcome: Outcome }
  | { readonly news: 'listening'; readonly place: Place }
  | { readonly news: 'report'; readonly report: Report };
