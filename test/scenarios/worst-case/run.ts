/**
 * An adversary: looks for the schedule of requests that gets the most units into one window, wherever that starts, by
 * the model that the Redis script is held against.
 */
import { validatePolicyFile } from '../../../src/gateway/config/policy-file/validate.ts';
import type { Quota } from '../../../src/gateway/core/counting/store.ts';
import { policyFileContext } from '../../support/policies.ts';
import { quotaOf } from '../../support/quotas.ts';
import { openMemoryStore } from '../../support/stores.ts';
import { fullestWindow } from '../exactness/judge.ts';

const WINDOW_MS = 60_000;

/** What is searched: every algorithm with small and large limits, and buckets smaller and larger than their rate. */
export const SEARCHED: readonly Quota[] = [5, 10, 50, 100].flatMap((limit) => {
  const quota = { limit, windowMs: WINDOW_MS };
  return [
    quotaOf({ ...quota, algorithm: 'sliding-window-log' }),
    quotaOf({ ...quota, algorithm: 'sliding-window-counter' }),
    quotaOf({ ...quota, algorithm: 'fixed-window' }),
    ...[1, limit, 3 * limit].map((burst) =>
      quotaOf({ ...quota, algorithm: 'token-bucket', burst }),
    ),
  ];
});

/** What the notes on a policy file say; of a limit without a note, that it is exact. */
export function documentedWorstCase({ algorithm, limit, burst }: Quota): number {
  const bucket = algorithm === 'token-bucket' ? `, burst: ${burst}` : '';
  const file = `{ version: 1, default: { limits: [{ rate: ${limit}/1min, algorithm: ${algorithm}${bucket} }] } }`;
  const [note] = validatePolicyFile(file, 'policies.yaml', policyFileContext()).notes;
  return note === undefined ? limit : Number(/up to (\d+) units/.exec(note.message)?.[1]);
}

/** Takes all that it gets, from one moment to another: as soon as the answers say that there is room. */
interface Greed {
  /** Milliseconds since the start of a window that is aligned to the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Units that a request takes; of a check 0, of a refund less. Checks and refunds are sent once. */
  readonly cost: number;
}

export interface WorstCase {
  readonly units: number;
  readonly schedule: readonly Greed[];
}

export interface SearchOptions {
  readonly seed: number;
  /** Random schedules to start from, and changes to each. */
  readonly climbs: number;
  readonly changes: number;
}

/** Aligned windows that a schedule covers; no window of the same length touches more than two. */
const WINDOWS = 3;

/** Of the schedules that people think of. */
export async function worstKnownCase(quota: Quota): Promise<WorstCase> {
  let worst: WorstCase = { units: 0, schedule: [] };
  for (const schedule of knownSchedules(quota)) worst = worse(await play(quota, schedule), worst);
  return worst;
}

/** Of random schedules, changed bit by bit for as long as that does no harm. */
export async function worstFoundCase(quota: Quota, options: SearchOptions): Promise<WorstCase> {
  const random = randomFrom(options.seed);
  let worst: WorstCase = { units: 0, schedule: [] };
  for (let climb = 0; climb < options.climbs; climb++) {
    let here = await play(quota, randomSchedule(quota, random));
    for (let change = 0; change < options.changes; change++) {
      here = worse(here, await play(quota, changed(here.schedule, quota, random)));
    }
    worst = worse(here, worst);
  }
  return worst;
}

/** The second one where they are equal, so that a search does not stay where it is. */
function worse(one: WorstCase, other: WorstCase): WorstCase {
  return other.units >= one.units ? other : one;
}

async function play(quota: Quota, schedule: readonly Greed[]): Promise<WorstCase> {
  const { store, clock, key } = openMemoryStore();
  const startMs = Math.ceil(clock.nowMs / quota.windowMs) * quota.windowMs;
  const stampsMs: number[] = [];
  clock.nowMs = startMs;
  for (const { fromMs, toMs, cost } of schedule) {
    clock.nowMs = Math.max(clock.nowMs, startMs + fromMs);
    while (clock.nowMs <= startMs + toMs) {
      const { admitted, states } = await store.take([{ key: key(), quota, cost }]);
      if (admitted) for (let unit = 0; unit < cost; unit++) stampsMs.push(clock.nowMs);
      // What is given back was not used: the units that were taken last.
      if (cost < 0) stampsMs.splice(cost);
      if (cost <= 0) break;
      clock.nowMs += states[0]?.retryAfterMs ?? 0;
    }
  }
  return { units: fullestWindow(stampsMs, quota.windowMs), schedule };
}

/** A burst somewhere in one window, then greed from somewhere in the next. */
function knownSchedules({ windowMs }: Quota): Greed[][] {
  const offsetsMs = [0, 1, windowMs / 4, windowMs / 2, (3 * windowMs) / 4, windowMs - 1];
  return offsetsMs.flatMap((burstMs) =>
    offsetsMs.map((greedMs) => [
      { fromMs: burstMs, toMs: burstMs, cost: 1 },
      { fromMs: windowMs + greedMs, toMs: 2 * windowMs - 1, cost: 1 },
    ]),
  );
}

type Random = (below: number) => number;

function randomSchedule(quota: Quota, random: Random): Greed[] {
  const phases = Array.from({ length: 1 + random(4) }, () => randomGreed(quota, random));
  return inOrder(phases);
}

function randomGreed({ windowMs, burst }: Quota, random: Random): Greed {
  const fromMs = random(WINDOWS * windowMs);
  const toMs = random(2) === 0 ? fromMs : fromMs + random(windowMs);
  return { fromMs, toMs, cost: randomCost(burst, random) };
}

/** Rarely a check, or a refund. */
function randomCost(burst: number, random: Random): number {
  const kind = random(8);
  if (kind === 0) return -random(burst + 1);
  return kind < 5 ? 1 : 1 + random(burst);
}

/** One phase more, one less, or one that is moved, by a step of any size. */
function changed(schedule: readonly Greed[], quota: Quota, random: Random): Greed[] {
  const phases = [...schedule];
  const place = random(phases.length);
  const phase = phases[place] as Greed;
  const stepMs = (random(2) === 0 ? 1 : -1) * random(10 ** (1 + random(5)));
  const kind = random(6);
  if (kind === 0 && phases.length < 6) phases.push(randomGreed(quota, random));
  else if (kind === 1 && phases.length > 1) phases.splice(place, 1);
  else if (kind === 2) phases[place] = { ...phase, cost: 1 };
  else {
    const fromMs = Math.max(0, kind === 3 ? phase.fromMs : phase.fromMs + stepMs);
    const toMs = Math.max(fromMs, kind === 4 ? phase.toMs : phase.toMs + stepMs);
    // A longer schedule would find nothing more, and take longer.
    if (toMs < (WINDOWS + 1) * quota.windowMs) phases[place] = { ...phase, fromMs, toMs };
  }
  return inOrder(phases);
}

function inOrder(schedule: readonly Greed[]): Greed[] {
  return schedule.toSorted((a, b) => a.fromMs - b.fromMs);
}

/** Whole numbers from 0 to before `below`, always the same ones for a seed (mulberry32). */
function randomFrom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
