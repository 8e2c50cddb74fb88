/** Metrics of operators: overrides in force, refused calls. */
import { Counter, Gauge, type Registry } from 'prom-client';

export function createOperatorMetrics(registers: Registry[]) {
  return {
    overrides: new Gauge({
      name: 'headgate_overrides',
      help: 'Overrides in force: blocked or exempt clients, policies in another mode, logging.',
      labelNames: ['effect'],
      aggregator: 'max',
      registers,
    }),
    refused: new Counter({
      name: 'headgate_operators_refused_total',
      help: 'Calls of the ops API without its token.',
      registers,
    }),
  };
}
