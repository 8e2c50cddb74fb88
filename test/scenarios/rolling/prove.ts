/** The long form: a gateway is replaced every five seconds for a minute. */
import { printTable } from '../../../tools/table.ts';
import { defineScenario } from '../scenario.ts';
import { runRolling, whatIsWrong } from './run.ts';

export const scenario = defineScenario({
  proves: 'gateways are replaced behind NGINX and Envoy, and no request fails or passes unchecked',
  takes: '1 min',
  options: { seconds: { default: 60, least: 10, help: 'how long the load runs' } },
  async prove({ seconds }) {
    const run = await runRolling({
      durationMs: seconds * 1_000,
      everyMs: 5_000,
      perSecond: 200,
      isPatient: false,
    });
    console.log(`three gateways; ${run.restarts} times one was stopped by SIGTERM and restarted\n`);
    printTable(
      [...run.clients].map(([proxy, view]) => ({
        'clients of': proxy,
        requests: String(view.requests),
        failed: String(view.failed.length),
        'passed unchecked': String(view.bypassed),
        'not measured': String(view.unmeasured),
        p99: `${view.p99Ms.toFixed(0)} ms`,
        slowest: `${view.slowestMs.toFixed(0)} ms`,
      })),
    );
    return whatIsWrong(run);
  },
});
