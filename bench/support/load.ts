/** What a load is, and closed-loop load by wrk: each connection sends its next request as soon as it has an answer. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Server } from './lab.ts';

export interface Applied {
  readonly requests: number;
  readonly requestsPerSecond: number;
  /** Only of an open loop. */
  readonly latency?: Latency;
}

/** From the moment when a request was due to its answer. */
export interface Latency {
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  /** Answers of a gateway that did not hear from Redis in time. */
  readonly unmeasured: number;
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
}

export const CONNECTIONS = 64;
export const CLIENTS_SCRIPT = fileURLToPath(new URL('clients.lua', import.meta.url));

export function closedLoop(options: ClosedLoop): Load {
  const { clients, paths = 0, expects = 'allow', connections = CONNECTIONS, traceparent } = options;
  return async ({ url }, seconds) => {
    const wrkArguments = ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', CLIENTS_SCRIPT, url];
    wrkArguments.push('--', String(clients), String(paths));
    if (traceparent !== undefined) wrkArguments.push(traceparent);
    const { stdout } = await promisify(execFile)('wrk', wrkArguments);
    const figure = (pattern: RegExp) => Number(pattern.exec(stdout)?.[1] ?? 0);
    const requests = figure(/(\d+) requests in/);
    const denied = figure(/Non-2xx or 3xx responses: (\d+)/);
    // The very first request of a client that is to be denied may still be admitted.
    const unexpected = expects === 'allow' ? denied : Math.max(0, requests - denied - 1);
    if (requests === 0 || unexpected > 0 || stdout.includes('Socket errors')) {
      throw new Error(`${url} did not answer every request with "${expects}":\n${stdout}`);
    }
    return { requests, requestsPerSecond: figure(/Requests\/sec:\s+([\d.]+)/) };
  };
}
