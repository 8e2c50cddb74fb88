/** The long form: 60 stops of a gateway with two workers. */
import { defineScenario } from '../scenario.ts';
import { runStops } from './run.ts';

/** See "Connections at a stop" in SECURITY.md. */
const MOST_RESETS_PER_STOP = 1 / 5;

export const scenario = defineScenario({
  proves:
    'a gateway that stops resets almost no connection of clients that open new ones all the time',
  takes: '3 min',
  options: {
    stops: { default: 60, least: 1, help: 'how often the gateway is stopped' },
    workers: { default: 2, least: 1, help: 'workers of the gateway' },
    drain: { default: 200, least: 0, help: 'HEADGATE_DRAIN_MS' },
    keeping: { default: 30, least: 0, help: 'clients that keep their connection' },
    opening: { default: 10, least: 0, help: 'clients that open a connection for each request' },
  },
  async prove({ stops, workers, drain, keeping, opening }) {
    const run = await runStops({ stops, workers, drainMs: drain, keeping, opening });
    console.log(
      `${stops} stops, ${run.answered} requests answered, ${run.reset.length} connections reset in ${run.stopsWithResets} stops ${[...new Set(run.reset)]}`,
    );
    return [
      ...(run.reset.length > stops * MOST_RESETS_PER_STOP ? ['too many resets'] : []),
      ...(run.exitCodes.some((code) => code !== 0) ? [`exit codes ${run.exitCodes}`] : []),
    ];
  },
});
