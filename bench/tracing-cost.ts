/**
 * What does tracing cost per request?
 *
 * Gateways that count in memory: without a collector, with a `traceparent` and without; and with a collector that answers
 * at once, for requests that are not sampled and that are. Then requests of one denied client, whose answers and log lines
 * name the trace.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { byRow, cost, microsMoreThan, printOutcomes, times } from './support/columns.ts';
import { createLab } from './support/lab.ts';
import { closedLoop } from './support/load.ts';
import { interleave } from './support/rounds.ts';

const ROOMY = '{ version: 1, default: { limits: [1000000/1h] } }';
const TIGHT = '{ version: 1, default: { limits: [1/1h] } }';
const CLIENTS = 10_000;
const UNSAMPLED = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00';
const SAMPLED = UNSAMPLED.replace(/00$/, '01');

await using lab = createLab();
const collector = createServer((request, response) => {
  request.resume().on('end', () => response.end());
});
await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;

const plain = (policies: string) => () => lab.gateway(policies);
const traced = () => lab.gateway(ROOMY, undefined, { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
const passing = (traceparent?: string) => closedLoop({ clients: CLIENTS, traceparent });
const denied = (traceparent?: string) => closedLoop({ clients: 1, expects: 'deny', traceparent });

const outcomes = await interleave(
  [
    { name: 'no traceparent', start: plain(ROOMY), load: passing() },
    { name: 'traceparent', start: plain(ROOMY), load: passing(UNSAMPLED) },
    { name: 'collector, no traceparent', start: traced, load: passing() },
    { name: 'collector, not sampled', start: traced, load: passing(UNSAMPLED) },
    { name: 'collector, all sampled', start: traced, load: passing(SAMPLED) },
    { name: 'denied, no traceparent', start: plain(TIGHT), load: denied() },
    { name: 'denied, traceparent', start: plain(TIGHT), load: denied(UNSAMPLED) },
  ],
  { rounds: 7 },
);
const [none, , , , , deny] = outcomes;
const without = byRow(({ name }) => {
  const base = name.startsWith('denied') ? deny : none;
  return (outcome) => ({
    ...times('CPU, times without', base, 'serverMicrosPerRequest')(outcome),
    ...microsMoreThan('us more than without', base)(outcome),
  });
});
printOutcomes(outcomes, cost, without);
collector.close();
collector.closeAllConnections();
