/** Gateways are replaced behind real proxies, and no request fails: the short form of the proof. */
import { expect, inject, test } from 'vitest';
import { runRolling, whatIsWrong } from './run.ts';

const programs = inject('programs');
const areHere = ['redis-server', 'nginx', 'envoy'].every((name) => name in programs);

test.skipIf(!areHere)('nobody notices that gateways are replaced', async () => {
  const run = await runRolling({ durationMs: 13_000, everyMs: 4_000, perSecond: 100 });
  expect(whatIsWrong(run)).toEqual([]);
});
