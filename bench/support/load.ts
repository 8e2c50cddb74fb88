/** Closed-loop load by wrk: 64 connections, each of which asks again as soon as it was answered. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const CONNECTIONS = 64;

export interface Load {
  readonly url: string;
  readonly clients: number;
  /** How many paths below the URL are asked in turn; without it, only the URL's own. */
  readonly paths?: number;
  /** What every answer must be. */
  readonly expects?: 'allow' | 'deny';
}

export interface Applied {
  readonly requests: number;
  readonly requestsPerSecond: number;
}

const CLIENTS_SCRIPT = fileURLToPath(new URL('clients.lua', import.meta.url));

export async function applyLoad(load: Load, seconds: number): Promise<Applied> {
  const { url, clients, paths, expects = 'allow' } = load;
  const wrkArguments = [
    '-t1',
    `-c${CONNECTIONS}`,
    `-d${seconds}s`,
    '-s',
    CLIENTS_SCRIPT,
    url,
    '--',
    String(clients),
  ];
  if (paths !== undefined) wrkArguments.push(String(paths));
  const { stdout } = await promisify(execFile)('wrk', wrkArguments);
  const figure = (pattern: RegExp) => Number(pattern.exec(stdout)?.[1] ?? 0);
  const requests = figure(/(\d+) requests in/);
  const denied = figure(/Non-2xx or 3xx responses: (\d+)/);
  // The very first request of a client that is to be denied may still find room.
  const unexpected = expects === 'allow' ? denied : Math.max(0, requests - denied - 1);
  if (requests === 0 || unexpected > 0 || stdout.includes('Socket errors')) {
    throw new Error(`${url} did not answer every request with "${expects}":\n${stdout}`);
  }
  return { requests, requestsPerSecond: figure(/Requests\/sec:\s+([\d.]+)/) };
}
