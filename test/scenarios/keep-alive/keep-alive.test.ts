/** No proxy sends a request on a connection that the gateway is closing: the short form of the scenario. */
import { describe, inject, test } from 'vitest';
import {
  LONGEST_IDLE_MS,
  PROXIES,
  type ProxyName,
  runEdge,
  runIdle,
  startUnlimitedGateway,
} from './run.ts';

const VOLLEYS = 5;
/** Longer than a connection may take to send its first request. */
const IDLE_MS = 6_500;

describe.concurrent('a connection', () => {
  for (const name of Object.keys(PROXIES) as ProxyName[]) {
    test.skipIf(inject('programs')[name] === undefined)(
      `of ${name} is not broken if requests come at the end of its idle time`,
      async ({ expect }) => {
        const run = await runEdge(name, VOLLEYS);
        expect(run.wrong, JSON.stringify(run)).toEqual([]);
      },
    );
  }

  test('can be used again after an idle time, and is kept longer than any proxy keeps it', async ({
    expect,
  }) => {
    await using gateway = await startUnlimitedGateway();
    const run = await runIdle(gateway, IDLE_MS, 20);
    expect(run.answered).toBe(run.connections);
    expect(run.keptMs).toBeGreaterThan(LONGEST_IDLE_MS);
  });
});
