/**
 * Proves that gateways can be stopped and started anew behind NGINX and Envoy without anybody noticing. `--seconds` is
 * how long. Exits with 1 if anything is wrong.
 */
import { parseArgs } from 'node:util';
import { printTable } from '../../bench/support/table.ts';
import { runRolling, whatIsWrong } from '../support/rolling-run.ts';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' } } });
const durationMs = Number(values.seconds) * 1_000;
if (!(durationMs >= 10_000)) throw new RangeError('--seconds must be a number from 10 on');

const run = await runRolling({ durationMs, everyMs: 5_000, perSecond: 200 });
console.log(`three gateways, ${run.restarts} times one was stopped by SIGTERM and started anew\n`);
printTable(
  [...run.clients].map(([proxy, view]) => ({
    'clients of': proxy,
    requests: String(view.requests),
    failed: String(view.failed.length),
    'let through unasked': String(view.bypassed),
    'not measured': String(view.unmeasured),
    p99: `${view.p99Ms.toFixed(0)} ms`,
    slowest: `${view.slowestMs.toFixed(0)} ms`,
  })),
);
for (const line of whatIsWrong(run)) {
  console.log(`WRONG: ${line}`);
  process.exitCode = 1;
}
