/** Judges what clients saw of a Redis that changed hands, by their answers alone and the logs that are there in the end. */
import {
  type Answer,
  type Client,
  COUNTED_LIMIT,
  isAdmitted,
  isMeasured,
  LIMITED_LIMIT,
  LIMITED_WINDOW_MS,
} from './load.ts';
import type { FailoverRun, Turn } from './run.ts';

export interface TurnFigures {
  readonly turn: Turn;
  /** Admissions that clients saw and that the new master did not know of. */
  readonly forgotten: number;
  readonly mostForgottenOfOne: number;
  /** The most that any limited client was admitted in any window that the fault may have touched: by Redis, and in all. */
  readonly fullestByRedis: number;
  readonly fullestInAll: number;
  /** Decisions between the fault and the recovery, of the clients whose master it was and of the others. */
  readonly meanwhile: { readonly affected: Share; readonly others: Share };
  /** From the fault to the end of the turn. */
  readonly unmeasured: number;
  readonly slowestMs: number;
  /** How many of those whose master it was waited until the deadline, more or less. */
  readonly waited: number;
  /** Of the exempt client, for whom Redis is not asked. */
  readonly slowestExemptMs: number;
}

export interface Share {
  readonly answers: number;
  readonly measured: number;
}

export interface Figures {
  readonly turns: readonly TurnFigures[];
  readonly answers: number;
  readonly serverErrors: number;
  readonly unanswered: number;
  /** Answers whose status or way of deciding is none that their policy has. */
  readonly unexpected: number;
  readonly forgotten: number;
  /** Admissions that clients saw, that are not in the logs, and were not given anew either. */
  readonly missing: number;
  /** Entries of logs that no request accounts for. */
  readonly overcounted: number;
  /** The slowest answer while nothing was wrong. */
  readonly noiseMs: number;
}

/** How long a gateway waits for Redis, and what it may take besides. */
const DEADLINE_MS = 50;
const OWN_MS = 10;
const TIMER_MS = 2;
/** While their gateway waits too long for the other node, it may give up all of them for moments. */
const OTHERS_SHARE = 0.5;
/** After the first answers of a gateway. */
const WARM_UP_MS = 1_000;

export function figuresOf({ answers, turns, logs }: FailoverRun): Figures {
  const again = admissionsGivenAgain(answers);
  return {
    turns: turns.map((turn) => turnFigures(turn, answers, again)),
    answers: answers.length,
    serverErrors: count(answers, ({ status }) => status >= 500),
    unanswered: count(answers, ({ status }) => status === 0),
    unexpected: count(answers, (answer) => !isExpected(answer)),
    forgotten: again.length,
    ...heldAgainstLogs(answers, logs, again),
    noiseMs: slowest(answers.filter((answer) => isQuiet(answer, turns, answers[0]?.dueMs ?? 0))),
  };
}

/**
 * What is not as it should be; empty when all is well. A failover may cost one limit, of what it forgets, and what
 * gateways admit by themselves meanwhile one more. `slackMs` is for machines that have other things to do.
 */
export function whatIsWrong(figures: Figures, slackMs = 0): string[] {
  const { turns, noiseMs } = figures;
  const must: Readonly<Record<string, boolean>> = {
    'no answer is a 5xx': figures.serverErrors === 0,
    'every request is answered': figures.unanswered === 0,
    'every answer is one that its policy has': figures.unexpected === 0,
    'every admission is in the log, or given anew': figures.missing === 0,
    'no admission is counted twice': figures.overcounted === 0,
    'Redis admits at most one limit more for a failover': turns.every(
      ({ fullestByRedis }) => fullestByRedis <= 2 * LIMITED_LIMIT,
    ),
    'all together admit at most one limit more than that': turns.every(
      ({ fullestInAll }) => fullestInAll <= 3 * LIMITED_LIMIT,
    ),
    'nobody waits longer than the deadline': turns.every(
      ({ slowestMs, slowestExemptMs }) =>
        slowestMs <= DEADLINE_MS + OWN_MS + Math.max(noiseMs, slowestExemptMs) + slackMs,
    ),
    'no former master counts once it is replaced and left': turns.every(
      ({ turn }) => (turn.strayCalls ?? 0) === 0,
    ),
    'the slots of other nodes are measured': turns.every(
      ({ meanwhile: { others } }) => others.measured >= others.answers * OTHERS_SHARE,
    ),
    // What follows is asked of the experiment: that it was one.
    'killing and freezing is noticed': turns.every(
      ({ turn, unmeasured }) => !/killed|frozen|hung/.test(turn.fault) || unmeasured > 0,
    ),
  };
  return Object.keys(must).filter((rule) => !must[rule]);
}

function turnFigures(
  turn: Turn,
  answers: readonly Answer[],
  again: readonly Answer[],
): TurnFigures {
  const isDuring = ({ dueMs }: Answer) => turn.startMs <= dueMs && dueMs <= turn.endMs;
  const during = answers.filter(isDuring);
  const decided = during.filter(({ client }) => client.kind !== 'exempt');
  const forgotten = again.filter(isDuring);
  const recoveredMs = turn.startMs + turn.recoveredMs;
  // Never denied, so never from memory.
  const meanwhile = decided.filter(
    ({ dueMs, client }) => client.kind === 'counted' && dueMs < recoveredMs,
  );
  const near = answers.filter(
    ({ dueMs, client }) =>
      client.kind === 'limited' &&
      turn.startMs - LIMITED_WINDOW_MS <= dueMs &&
      dueMs <= recoveredMs + LIMITED_WINDOW_MS,
  );
  return {
    turn,
    forgotten: forgotten.length,
    mostForgottenOfOne: most([...byClient(forgotten).values()].map(({ length }) => length)),
    fullestByRedis: fullestWindow(near.filter(isMeasured)),
    // Of `allow` what is not measured has no limit.
    fullestInAll: fullestWindow(near.filter((each) => isMeasured(each) || each.by === 'local')),
    meanwhile: {
      affected: shareOf(meanwhile.filter(({ client }) => turn.isAffected(client))),
      others: shareOf(meanwhile.filter(({ client }) => !turn.isAffected(client))),
    },
    unmeasured: count(decided, (answer) => !isMeasured(answer)),
    slowestMs: slowest(decided),
    waited: count(
      decided,
      ({ client, tookMs }) => turn.isAffected(client) && tookMs > DEADLINE_MS - TIMER_MS,
    ),
    slowestExemptMs: slowest(during.filter(({ client }) => client.kind === 'exempt')),
  };
}

/**
 * What remains to a counted client tells the place of an admission in its log, since nothing leaves it. A place that
 * is given a second time was forgotten in between.
 */
function admissionsGivenAgain(answers: readonly Answer[]): Answer[] {
  const given = new Map<Client, Set<number>>();
  return admissionsOfCounted(answers).filter(({ client, remaining }) => {
    const places = given.get(client) ?? new Set();
    given.set(client, places);
    const isAgain = places.has(remaining);
    places.add(remaining);
    return isAgain;
  });
}

function admissionsOfCounted(answers: readonly Answer[]): Answer[] {
  return answers.filter(
    (answer) => answer.client.kind === 'counted' && isMeasured(answer) && isAdmitted(answer),
  );
}

function heldAgainstLogs(
  answers: readonly Answer[],
  logs: FailoverRun['logs'],
  again: readonly Answer[],
) {
  const forgotten = byClient(again);
  const all = byClient(answers);
  let missing = 0;
  let overcounted = 0;
  for (const [client, lengths] of logs) {
    const asked = all.get(client) ?? [];
    const seen = admissionsOfCounted(asked).length - (forgotten.get(client)?.length ?? 0);
    // Each may have been counted all the same.
    const unmeasured = count(asked, (answer) => !isMeasured(answer));
    for (const length of lengths) {
      missing += Math.max(0, seen - length);
      overcounted += Math.max(0, length - seen - unmeasured);
    }
  }
  return { missing, overcounted };
}

/** Those admitted in it for certain: they were asked and answered within. */
function fullestWindow(answers: readonly Answer[]): number {
  const windows = [...byClient(answers.filter(isAdmitted)).values()].flatMap((admissions) =>
    admissions.map(({ dueMs: fromMs }) =>
      count(
        admissions,
        ({ dueMs, tookMs }) => fromMs <= dueMs && dueMs + tookMs < fromMs + LIMITED_WINDOW_MS,
      ),
    ),
  );
  return most(windows);
}

function isExpected({ client, status, by, remaining }: Answer): boolean {
  if (client.kind === 'exempt') return status === 200 && by === 'redis';
  if (by === 'open') return client.mode === 'allow' && status === 200;
  if (by === 'closed') return client.mode === 'deny' && status === 429;
  if (by === 'local' && client.mode !== 'local') return false;
  if (client.kind === 'limited') return status === 200 || status === 429;
  return status === 200 && remaining < COUNTED_LIMIT;
}

function isQuiet({ dueMs, tookMs }: Answer, turns: readonly Turn[], firstMs: number): boolean {
  const isOver = ({ startMs, endMs }: Turn) => dueMs + tookMs < startMs || dueMs > endMs;
  return dueMs > firstMs + WARM_UP_MS && turns.every(isOver);
}

function shareOf(answers: readonly Answer[]): Share {
  return { answers: answers.length, measured: count(answers, isMeasured) };
}

function byClient(answers: readonly Answer[]): Map<Client, Answer[]> {
  return Map.groupBy(answers, ({ client }) => client);
}

function slowest(answers: readonly Answer[]): number {
  return most(answers.map(({ tookMs }) => tookMs));
}

function most(numbers: readonly number[]): number {
  return numbers.reduce((high, number) => Math.max(high, number), 0);
}

function count<T>(all: readonly T[], is: (each: T) => boolean): number {
  return all.reduce((sum, each) => sum + (is(each) ? 1 : 0), 0);
}
