/** Gateways are replaced behind real proxies, and no request fails: the short form of the scenario. */
import { expect, inject, test } from 'vitest';
import { runRolling, whatIsWrong } from './run.ts';

const programs = inject('programs');
const areHere = ['redis-server', 'nginx', 'envoy'].every((name) => name in programs);

test.skipIf(!areHere)('no client notices that gateways are replaced', async () => {
  const run = await runRolling({
    durationMs: 6_500,
    everyMs: 3_000,
    perSecond: 60,
    isPatient: true,
  });
  expect(whatIsWrong(run)).toEqual([]);
});
