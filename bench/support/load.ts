/** What a load is, and closed-loop load by wrk: each connection sends its next request as soon as it has an answer. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { percentile } from '../../tools/load/open-loop.ts';
import type { Server } from './lab.ts';

export interface Applied {
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly latency: Latency;
}

/** In an open loop, from the moment when a request was due to its answer. In a closed loop, from sending it. */
export interface Latency {
  /** How many answers these figures are of: a driver may leave out its first ones. */
  readonly answers: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  /** Answers of a gateway that did not hear from Redis in time. */
  readonly unmeasured?: number;
  /** Answers that took longer than LATE_MS. wrk does not count them. */
  readonly late?: number;
  /** Requests that a proxy refused, because the answer to its check was late. */
  readonly refused?: number;
}

/** Answers that take longer are late: after that time Envoy gives up, unless it is told otherwise. */
export const LATE_MS = 20;

/** Of what a driver has seen, in milliseconds. */
export function latencyOf(tookMs: readonly number[]): Latency {
  return {
    answers: tookMs.length,
    p50Ms: percentile(tookMs, 0.5),
    p90Ms: percentile(tookMs, 0.9),
    p99Ms: percentile(tookMs, 0.99),
    p999Ms: percentile(tookMs, 0.999),
    maxMs: percentile(tookMs, 1),
    late: tookMs.filter((ms) => ms > LATE_MS).length,
  };
}

/** Sends requests for some seconds. Rejects if an answer is not the expected one. */
export type Load = (server: Server, seconds: number) => Promise<Applied>;

export interface ClosedLoop {
  readonly clients: number;
  /** How many paths below the URL are requested in turn; without it, only the URL's own. */
  readonly paths?: number;
  /** What every answer must be. */
  readonly expects?: 'allow' | 'deny';
  readonly connections?: number;
  /** The header of this name, with each request. */
  readonly traceparent?: string | undefined;
  /** In place of checks, requests as throttlecrab expects them. */
  readonly isThrottlecrab?: boolean;
}

export const CONNECTIONS = 64;
export const CLIENTS_SCRIPT = fileURLToPath(new URL('clients.lua', import.meta.url));

export function closedLoop(options: ClosedLoop): Load {
  const { clients, paths = 0, expects = 'allow', connections = CONNECTIONS } = options;
  const { traceparent = '', isThrottlecrab = false } = options;
  return async ({ url }, seconds) => {
    const wrkArguments = ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', CLIENTS_SCRIPT, url];
    wrkArguments.push('--', String(clients), String(paths), traceparent);
    if (isThrottlecrab) wrkArguments.push('throttlecrab');
    const { stdout } = await promisify(execFile)('wrk', wrkArguments);
    const figure = (pattern: RegExp) => Number(pattern.exec(stdout)?.[1] ?? 0);
    const requests = figure(/(\d+) requests in/);
    const denied = figure(/Non-2xx or 3xx responses: (\d+)/);
    // The very first request of a client that is to be denied may still be admitted.
    const unexpected = expects === 'allow' ? denied : Math.max(0, requests - denied - 1);
    if (requests === 0 || unexpected > 0 || stdout.includes('Socket errors')) {
      throw new Error(`${url} did not answer every request with "${expects}":\n${stdout}`);
    }
    const latency = JSON.parse(/latency: (.*)/.exec(stdout)?.[1] ?? '') as Omit<Latency, 'answers'>;
    return {
      requests,
      requestsPerSecond: figure(/Requests\/sec:\s+([\d.]+)/),
      latency: { ...latency, answers: requests },
    };
  };
}
