/**
 * What do metrics, the denial log, and operators' overrides cost per request?
 *
 * All gateways are composed in the same way and count in memory, for 10,000 clients: with telemetry as shipped, and with
 * one that does nothing for each request. Then all requests are denied: those of one client, with one log line a second,
 * and those of 10,000 clients, with one log line a second for each.
 */

import { printTable } from '../tools/table.ts';
import {
  byRow,
  cost,
  microsMoreThan,
  printOutcomes,
  throughput,
  times,
} from './support/columns.ts';
import { fill } from './support/fill.ts';
import { createLab } from './support/lab.ts';
import { closedLoop } from './support/load.ts';
import { decisionSeries, type Operated, startOperated } from './support/operated.ts';
import { interleave } from './support/rounds.ts';
import { scrapes } from './support/scrapes.ts';
import { telemetryLoops } from './support/telemetry-loop.ts';

const ROOMY = '{ version: 1, default: { limits: [1000000/1h] } }';
const TIGHT = '{ version: 1, default: { limits: [1/1h] } }';
const CLIENTS = 10_000;
const OVERRIDES = 1_000;
const everyone = closedLoop({ clients: CLIENTS });
const oneDenied = closedLoop({ clients: 1, expects: 'deny' });
const allDenied = closedLoop({ clients: CLIENTS, expects: 'deny' });

await using lab = createLab();

/** How to start one that is prepared before its first turn. */
function start(
  telemetry: 'shipped' | 'none',
  policies: string,
  prepare?: (gateway: Operated) => Promise<void>,
) {
  return async () => {
    const gateway = await startOperated(lab, telemetry, policies);
    await prepare?.(gateway);
    const { server } = gateway;
    const stop = async () => {
      await checkTelemetry(gateway, telemetry);
      return server.stop();
    };
    return { ...server, stop };
  };
}

/** Blocks clients that send no requests: every request is compared with them and passes. */
async function blockOthers({ override, overrides }: Operated): Promise<void> {
  // One after the other: the gateway bounds the connections of operators.
  for (let i = 0; i < OVERRIDES; i++) {
    await override('POST', '/v1/clients/block', { client: `172.16.${i >> 8}.${i & 255}` });
  }
  const inForce = await overrides();
  if (inForce !== OVERRIDES) throw new Error(`${inForce} overrides are in force`);
}

const sampleAllows = ({ override }: Operated) =>
  override('PUT', '/v1/log', { allows_one_in: 1_000 });
const useUp = ({ server: { url } }: Operated) => fill({ url, requests: CLIENTS, clients: CLIENTS });

const outcomes = await interleave(
  [
    { name: 'as shipped', start: start('shipped', ROOMY), load: everyone },
    { name: 'no telemetry', start: start('none', ROOMY), load: everyone },
    { name: '1,000 overrides', start: start('shipped', ROOMY, blockOthers), load: everyone },
    {
      name: '1 allow in 1,000 logged',
      start: start('shipped', ROOMY, sampleAllows),
      load: everyone,
    },
    { name: 'one denied', start: start('shipped', TIGHT), load: oneDenied },
    { name: 'one denied, no telemetry', start: start('none', TIGHT), load: oneDenied },
    { name: 'all denied', start: start('shipped', TIGHT, useUp), load: allDenied },
    { name: 'all denied, no telemetry', start: start('none', TIGHT, useUp), load: allDenied },
  ],
  { rounds: 7 },
);
const [shipped, none, , , , oneNone, , manyNone] = outcomes;
const against = byRow(({ name }) => {
  const base = name.startsWith('one') ? oneNone : name.startsWith('all') ? manyNone : none;
  return (each) => ({
    ...times('CPU, times none', base, 'serverMicrosPerRequest')(each),
    ...microsMoreThan('us more than none', base)(each),
    ...times(
      'CPU, times as shipped',
      base === none ? shipped : undefined,
      'serverMicrosPerRequest',
    )(each),
  });
});
printOutcomes(outcomes, cost, throughput, against);
console.log();
printTable(telemetryLoops());
console.log();
printTable([await scrapes(lab, 10), await scrapes(lab, 1_000)]);

/** Throws if there was telemetry and should have been none, or the other way round. */
async function checkTelemetry({ scrape }: Operated, telemetry: 'shipped' | 'none'): Promise<void> {
  const series = decisionSeries(await scrape());
  if (series > 0 !== (telemetry === 'shipped')) {
    throw new Error(`telemetry "${telemetry}" has decisions in ${series} series`);
  }
}
