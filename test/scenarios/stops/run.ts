/** A gateway is started and stopped again and again while clients send requests on kept and on new connections. */
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENT, startGatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';
import { startRedisServer } from '../../support/redis-server.ts';

export interface StopsOptions {
  readonly stops: number;
  readonly workers: number;
  readonly drainMs: number;
  /** Callers with a connection that they keep. */
  readonly keeping: number;
  /** Callers that open a connection for each request. */
  readonly opening: number;
}

export interface StopsRun {
  readonly answered: number;
  /** What each request that was not answered ended with, but for connections that were refused. */
  readonly reset: readonly string[];
  readonly stopsWithResets: number;
  readonly exitCodes: readonly (number | null)[];
}

const LOAD_MS = 500;

export async function runStops(options: StopsOptions): Promise<StopsRun> {
  await using redis = await startRedisServer();
  const reset: string[] = [];
  const exitCodes: (number | null)[] = [];
  let [answered, stopsWithResets] = [0, 0];
  for (let stop = 0; stop < options.stops; stop++) {
    await using gateway = await startGatewayProcess({
      ...PATIENT,
      HEADGATE_REDIS_URL: redis.url,
      HEADGATE_WORKERS: String(options.workers),
      HEADGATE_DRAIN_MS: String(options.drainMs),
      HEADGATE_LOG_LEVEL: 'warn',
    });
    const before = reset.length;
    const caller = async (agent: Agent, address: string) => {
      while (true) {
        try {
          await call(gateway.url, '/envoy/a', {
            agent,
            headers: { 'x-headgate-client-ip': address },
          });
          answered++;
        } catch (error) {
          const { code, message } = error as NodeJS.ErrnoException;
          if (code === 'ECONNREFUSED') break;
          reset.push(code ?? message);
        }
        await sleep(Math.random() * 10);
      }
      agent.destroy();
    };
    const callers = Array.from({ length: options.keeping + options.opening }, (_, i) => {
      const keepAlive = i < options.keeping;
      return caller(new Agent({ keepAlive, maxSockets: 1 }), `10.${stop % 250}.${i % 250}.1`);
    });
    await sleep(LOAD_MS);
    gateway.signal('SIGTERM');
    exitCodes.push(await gateway.exited());
    await Promise.all(callers);
    if (reset.length > before) stopsWithResets++;
  }
  return { answered, reset, stopsWithResets, exitCodes };
}
