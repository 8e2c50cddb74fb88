/** Metrics of decisions, and of requests that got none. */
import { Counter, Histogram, type Registry } from 'prom-client';
import { FAST_BUCKETS } from '../context.ts';
import { Tally } from '../tally.ts';
import { DecisionTally } from './decision-tally.ts';

export function createDecisionMetrics(registers: Registry[]) {
  return {
    tally: talliedDecisions(registers),
    identities: talliedIdentities(registers),
    unmatched: new Counter({
      name: 'headgate_unmatched_total',
      help: 'Requests that matched no policy and got the default.',
      registers,
    }),
    duration: new Histogram({
      name: 'headgate_decision_duration_seconds',
      help: 'From the arrival of a check to its response.',
      buckets: FAST_BUCKETS,
      registers,
    }),
    repeated: new Counter({
      name: 'headgate_repeated_checks_total',
      help: 'Checks of a request that was decided a moment before, answered with the same decision.',
      registers,
    }),
    remembered: new Counter({
      name: 'headgate_remembered_denials_total',
      help: 'Requests denied from the denial cache, without a round trip to the store.',
      registers,
    }),
    degraded: new Counter({
      name: 'headgate_degraded_decisions_total',
      help: 'Decisions made without the store, by mode: local, open or closed.',
      labelNames: ['mode'],
      registers,
    }),
    ...undecided(registers),
  };
}

function talliedDecisions(registers: Registry[]): DecisionTally {
  const tally = new DecisionTally();
  new Counter({
    name: 'headgate_decisions_total',
    help: 'Decisions by limiting policy and verdict.',
    labelNames: ['policy', 'verdict'],
    registers,
    collect() {
      this.reset();
      for (const [labels, count] of tally.counts()) this.inc(labels, count);
    },
  });
  return tally;
}

function talliedIdentities(registers: Registry[]): Tally {
  const identities = new Tally();
  new Counter({
    name: 'headgate_identity_total',
    help: 'Requests by the source that identified the client.',
    labelNames: ['kind'],
    registers,
    collect() {
      this.reset();
      for (const [kind, count] of identities.counts()) this.inc({ kind }, count);
    },
  });
  return identities;
}

function undecided(registers: Registry[]) {
  return {
    shed: new Counter({
      name: 'headgate_requests_shed_total',
      help: 'Requests that were not counted because the event loop was overloaded.',
      registers,
    }),
    abandoned: new Counter({
      name: 'headgate_requests_abandoned_total',
      help: 'Requests whose proxy gave up before headgate could look at them. They were neither decided nor counted.',
      registers,
    }),
    faults: new Counter({
      name: 'headgate_check_faults_total',
      help: 'Checks answered 500 because of a fault in headgate. headgate_connection_faults_total counts connections that were closed without an answer.',
      labelNames: ['dialect'],
      registers,
    }),
  };
}
