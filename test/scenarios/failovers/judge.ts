/** The expectations of a failover: what clients may see of it. */
import type { Figures } from './figures.ts';
import { LIMITED_LIMIT } from './load.ts';

/** What a request may take in addition to the deadline. */
const OWN_MS = 10;
/** A gateway that waits too long for one node may give up the others for moments. */
const OTHERS_SHARE = 0.5;

/**
 * Returns the expectations that were not met. A failover may admit one limit more, because counts are forgotten, and
 * gateways may admit another limit on their own meanwhile. `slackMs` is for a machine that is busy with other things.
 */
export function whatIsWrong(figures: Figures, slackMs = 0): string[] {
  const { turns, noiseMs, deadlineMs } = figures;
  const must: Readonly<Record<string, boolean>> = {
    'no answer is a 5xx': figures.serverErrors === 0,
    'every request is answered': figures.unanswered === 0,
    'every answer fits its policy': figures.unexpected === 0,
    'every admission is in the log, or was forgotten': figures.missing === 0,
    'no admission is counted twice': figures.overcounted === 0,
    'Redis admits at most one limit more because of a failover': turns.every(
      ({ fullestByRedis }) => fullestByRedis <= 2 * LIMITED_LIMIT,
    ),
    'Redis and gateways together admit at most two limits more': turns.every(
      ({ fullestInAll }) => fullestInAll <= 3 * LIMITED_LIMIT,
    ),
    'no request waits longer than the deadline': turns.every(
      ({ slowestMs, slowestExemptMs }) =>
        slowestMs <= deadlineMs + OWN_MS + Math.max(noiseMs, slowestExemptMs) + slackMs,
    ),
    'a former master does not count after the gateways have left it': turns.every(
      ({ turn }) => (turn.strayCalls ?? 0) === 0,
    ),
    'Redis goes on counting in the slots of other nodes': turns.every(
      ({ meanwhile: { others } }) => others.measured >= others.answers * OTHERS_SHARE,
    ),
    // This checks that the fault had an effect.
    'some requests are decided without a Redis that is killed or frozen': turns.every(
      ({ turn, unmeasured }) => !/killed|frozen|hung/.test(turn.fault) || unmeasured > 0,
    ),
  };
  return Object.keys(must).filter((rule) => !must[rule]);
}
