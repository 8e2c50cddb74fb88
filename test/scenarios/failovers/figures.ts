/** Computes what clients saw of each fault, from their answers and from the logs in Redis after the run. */
import {
  type Answer,
  type Client,
  COUNTED_LIMIT,
  isAdmitted,
  isMeasured,
  LIMITED_WINDOW_MS,
} from './load.ts';
import type { FailoverRun, Turn } from './run.ts';

interface TurnFigures {
  readonly turn: Turn;
  /** Admissions that clients saw and the new master does not have. */
  readonly forgotten: number;
  readonly mostForgottenOfOne: number;
  /** The most admissions of a limited client in any window around the fault: by Redis, and in total. */
  readonly fullestByRedis: number;
  readonly fullestInAll: number;
  /** Decisions between fault and recovery, of the clients of that master and of the others. */
  readonly meanwhile: { readonly affected: Share; readonly others: Share };
  /** Decisions without Redis, from the fault to the end of the turn. */
  readonly unmeasured: number;
  readonly slowestMs: number;
  /** How many requests of affected clients waited until the deadline. */
  readonly waited: number;
  /** Of the exempt client, whose requests do not need Redis. */
  readonly slowestExemptMs: number;
}

export interface Share {
  readonly answers: number;
  readonly measured: number;
}

export interface Figures {
  readonly turns: readonly TurnFigures[];
  /** The maximum time that a request waits for Redis. */
  readonly deadlineMs: number;
  readonly answers: number;
  readonly serverErrors: number;
  readonly unanswered: number;
  /** Answers whose status or mode does not fit their policy. */
  readonly unexpected: number;
  readonly forgotten: number;
  /** Admissions that clients saw, and that are neither in the logs nor forgotten. */
  readonly missing: number;
  /** Log entries without a request. */
  readonly overcounted: number;
  /** The slowest answer outside of faults. */
  readonly noiseMs: number;
}

/** A timer of the gateway may be late by this. */
const TIMER_MS = 2;
/** After the first answers of a gateway. */
const WARM_UP_MS = 1_000;

export function figuresOf({ answers, turns, logs, deadlineMs }: FailoverRun): Figures {
  const again = admissionsGivenAgain(answers);
  return {
    turns: turns.map((turn) => turnFigures(turn, { answers, again, deadlineMs })),
    deadlineMs,
    answers: answers.length,
    serverErrors: count(answers, ({ status }) => status >= 500),
    unanswered: count(answers, ({ status }) => status === 0),
    unexpected: count(answers, (answer) => !isExpected(answer)),
    forgotten: again.length,
    ...comparedWithLogs(answers, logs, again),
    noiseMs: slowest(answers.filter((answer) => isQuiet(answer, turns, answers[0]?.dueMs ?? 0))),
  };
}

interface Seen extends Pick<FailoverRun, 'answers' | 'deadlineMs'> {
  /** Admissions that Redis gave a second time. */
  readonly again: readonly Answer[];
}

function turnFigures(turn: Turn, { answers, again, deadlineMs }: Seen): TurnFigures {
  const isDuring = ({ dueMs }: Answer) => turn.startMs <= dueMs && dueMs <= turn.endMs;
  const during = answers.filter(isDuring);
  const decided = during.filter(({ client }) => client.kind !== 'exempt');
  const forgotten = again.filter(isDuring);
  const recoveredMs = turn.startMs + turn.recoveredMs;
  // These clients are never denied, so the cache decides none of their requests.
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
    // With `allow`, admissions without Redis have no limit.
    fullestInAll: fullestWindow(near.filter((each) => isMeasured(each) || each.by === 'local')),
    meanwhile: {
      affected: shareOf(meanwhile.filter(({ client }) => turn.isAffected(client))),
      others: shareOf(meanwhile.filter(({ client }) => !turn.isAffected(client))),
    },
    unmeasured: count(decided, (answer) => !isMeasured(answer)),
    slowestMs: slowest(decided),
    waited: count(
      decided,
      ({ client, tookMs }) => turn.isAffected(client) && tookMs > deadlineMs - TIMER_MS,
    ),
    slowestExemptMs: slowest(during.filter(({ client }) => client.kind === 'exempt')),
  };
}

/**
 * The remaining requests of a counted client tell the place of an admission in its log, because no entry expires. A place
 * that appears twice was forgotten in between.
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

/** Compares the admissions that clients saw with the logs. */
function comparedWithLogs(
  answers: readonly Answer[],
  logs: FailoverRun['logs'],
  again: readonly Answer[],
) {
  const forgotten = byClient(again);
  const all = byClient(answers);
  let missing = 0;
  let overcounted = 0;
  for (const [client, lengths] of logs) {
    const own = all.get(client) ?? [];
    const seen = admissionsOfCounted(own).length - (forgotten.get(client)?.length ?? 0);
    // Redis may have counted these as well.
    const unmeasured = count(own, (answer) => !isMeasured(answer));
    for (const length of lengths) {
      missing += Math.max(0, seen - length);
      overcounted += Math.max(0, length - seen - unmeasured);
    }
  }
  return { missing, overcounted };
}

/** The most admissions of one client in any window, of requests that were sent and answered within it. */
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
