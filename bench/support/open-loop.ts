/** Open-loop load: requests come at a fixed rate, and their latency counts from the moment when they were due. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Applied, Load } from './load.ts';

export interface OpenLoop {
  readonly requestsPerSecond: number;
  readonly clients: number;
  /** Requests are what a load balancer with this address sends to a proxy. Without it they are checks. */
  readonly balancer?: string;
  /** Whether each answer must say what is left of a limit. */
  readonly mustCount?: boolean;
  /** The status with which the proxy refuses a request whose check was answered too late. Others must be 200. */
  readonly refusedAs?: number;
}

export interface OpenLoopDriverOptions extends OpenLoop {
  readonly url: string;
  readonly seconds: number;
}

const DRIVER = fileURLToPath(new URL('open-loop-driver.ts', import.meta.url));

export function openLoop(options: OpenLoop): Load {
  return async ({ url }, seconds): Promise<Applied> => {
    const driverOptions: OpenLoopDriverOptions = { ...options, url, seconds };
    const { stdout } = await promisify(execFile)(process.execPath, [
      DRIVER,
      JSON.stringify(driverOptions),
    ]);
    return JSON.parse(stdout);
  };
}
