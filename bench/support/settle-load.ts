/**
 * Load that settles: 64 requests at a time are checked, and each is settled as soon as its check is answered. Over HTTP, each
 * connection sends the check, then one report by POST /settle. Over gRPC, the reports are access logs as Envoy sends them.
 */
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Server } from './lab.ts';
import { type Applied, CONNECTIONS, type Load } from './load.ts';

/** What every request turned out to cost. */
export interface ReportedOutcome {
  readonly headers?: Readonly<Record<string, string>>;
  readonly units?: Readonly<Record<string, number>>;
}

export interface SettleDriverOptions {
  readonly port: number;
  readonly path: string;
  readonly seconds: number;
  readonly clients: number;
  readonly connections: number;
  /** Without it, requests are only checked. */
  readonly outcome?: ReportedOutcome | undefined;
}

const DRIVER = fileURLToPath(new URL('settle-driver.ts', import.meta.url));
const SETTLED_WITHIN_MS = 5_000;
/** A settlement may come after its turn. */
const ENOUGH = 0.99;

/** Checks over HTTP; with an outcome, each is followed by its report on the same connection. */
export function httpSettleLoad(clients: number, outcome?: ReportedOutcome): Load {
  return async ({ url, port }, seconds): Promise<Applied> => {
    const options: SettleDriverOptions = {
      ...{ port, seconds, clients, outcome },
      path: new URL(url).pathname,
      connections: CONNECTIONS,
    };
    const { stdout } = await promisify(execFile)(process.execPath, [
      DRIVER,
      JSON.stringify(options),
    ]);
    return JSON.parse(stdout);
  };
}

/** Rejects if a turn of the load ends, and the gateway has not settled its requests. */
export function settlesAll(load: Load): Load {
  const settledBefore = new WeakMap<Server, number>();
  return async (server, seconds) => {
    const before = settledBefore.get(server) ?? 0;
    const applied = await load(server, seconds);
    const endMs = performance.now() + SETTLED_WITHIN_MS;
    for (;;) {
      const settled = (await server.settled?.()) ?? 0;
      settledBefore.set(server, settled);
      if (settled - before >= ENOUGH * applied.requests) return applied;
      if (performance.now() > endMs) {
        throw new Error(`of ${applied.requests} requests, ${settled - before} were settled`);
      }
      await sleep(50);
    }
  };
}
