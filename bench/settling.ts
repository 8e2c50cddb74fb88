/**
 * What does it cost to charge a request afterwards, against a plain decision of the same algorithm?
 *
 * A closed loop with 64 requests at a time, without a proxy, all with Redis. A row with a report has for each request its
 * decision and its settlement: `POST /settle` with one token a call, or access logs as Envoy writes them.
 */
import { byRow, cost, latency, printOutcomes, times } from './support/columns.ts';
import { grpcLoad } from './support/grpc-load.ts';
import { createLab } from './support/lab.ts';
import type { Load } from './support/load.ts';
import { printTables } from './support/options.ts';
import { type Contestant, interleave } from './support/rounds.ts';
import { httpSettleLoad, type ReportedOutcome, settlesAll } from './support/settle-load.ts';

const CLIENTS = 10_000;
const AT_A_TIME = { connections: 2, streams: 32, clients: CLIENTS } as const;

interface Compared {
  readonly name: string;
  readonly plain: string;
  readonly charging: string;
  readonly outcome: ReportedOutcome;
}

/** Half of what was reserved is given back, or all of it. */
const COMPARED: readonly Compared[] = [
  {
    name: 'log',
    plain: '{ rate: 5000/1h }',
    charging: '{ rate: 5000/1h, refund: { header: { x-login: ok } } }',
    outcome: { headers: { 'x-login': 'ok' } },
  },
  {
    name: 'counter',
    plain: '{ rate: 1000000/1h, algorithm: sliding-window-counter }',
    charging:
      '{ rate: 100000000/1h, algorithm: sliding-window-counter, unit: tokens, reserve: 500 }',
    outcome: { units: { tokens: 250 } },
  },
  {
    name: 'fixed',
    plain: '{ rate: 1000000/1h, algorithm: fixed-window }',
    charging: '{ rate: 100000000/1h, algorithm: fixed-window, unit: tokens, reserve: 500 }',
    outcome: { units: { tokens: 250 } },
  },
];

const LOADS = {
  http: (outcome?: ReportedOutcome): Load => httpSettleLoad(CLIENTS, outcome),
  grpc: (outcome?: ReportedOutcome): Load => grpcLoad({ ...AT_A_TIME, outcome }),
};

await using lab = createLab();

await printTables({
  http: () => print('HTTP', LOADS.http),
  grpc: () => print('gRPC', LOADS.grpc),
});

async function print(transport: string, loadOf: (outcome?: ReportedOutcome) => Load) {
  const redis = await lab.redis();
  let databases = 0;
  const start = (limit: string) => {
    const url = redis.url(databases++);
    const policies = `{ version: 1, default: { limits: [${limit}] } }`;
    return () => lab.gateway(policies, url);
  };
  const report = transport === 'HTTP' ? 'POST /settle' : 'access log';
  const entries = COMPARED.flatMap(({ name, plain, charging, outcome }): Contestant[] => [
    { name: `${transport}: ${name}`, start: start(plain), redis, load: loadOf() },
    {
      name: `${transport}: ${name}, ${report}`,
      ...{ start: start(charging), redis },
      load: settlesAll(loadOf(outcome)),
    },
  ]);
  const outcomes = await interleave(entries, {
    rounds: 4,
    warmUpSeconds: 6,
    loadIs: '64 requests at a time',
  });
  const plainOf = (name: string) => outcomes.find((each) => each.name === name.split(',')[0]);
  printOutcomes(
    outcomes,
    cost,
    byRow(({ name }) => times('all CPU, times a decision', plainOf(name), 'totalMicrosPerRequest')),
    latency,
  );
}
