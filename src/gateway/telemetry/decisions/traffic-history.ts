/**
 * Requests, denials and would-be denials of each policy over the last 15 minutes, in steps that are aligned to the epoch,
 * so that the steps of several gateways can be added up. The tally of decisions is read once a step, so requests cost
 * nothing more. A policy without traffic in that time takes no series.
 */
import type { PolicyTotals } from './decision-events.ts';

export const STEP_MS = 5_000;
export const STEPS = 180;
/** More than are shown: a gateway whose clock is behind asks for older steps. */
const STEPS_KEPT = STEPS + 4;

const COUNTS = ['requests', 'denials', 'wouldDeny'] as const;
type Count = (typeof COUNTS)[number];

/** A number for each step, oldest first; empty if all are 0. */
export interface PolicySeries extends Readonly<Record<Count, readonly number[]>> {
  readonly policy: string;
}

interface Row {
  totals: PolicyTotals;
  /** The number of the last step with traffic. */
  lastBusy: number;
  /** By the number of the step, modulo `STEPS_KEPT`. Undefined while there is nothing but 0. */
  readonly rings: Record<Count, Uint32Array | undefined>;
}

type ReadTotals = () => Iterable<readonly [policy: string, PolicyTotals]>;

const NOTHING: PolicyTotals = { requests: 0, denials: 0, wouldDeny: 0 };

export class TrafficHistory {
  readonly #readTotals: ReadTotals;
  readonly #rows = new Map<string, Row>();
  /** The number of the step that has not ended: steps since the epoch. */
  #step: number;

  constructor(readTotals: ReadTotals, nowMs: number) {
    this.#readTotals = readTotals;
    this.#step = stepAt(nowMs);
  }

  /** Call this at the end of each step, in milliseconds since the epoch. Does nothing if the step has not ended. */
  sample(nowMs: number): void {
    const step = stepAt(nowMs);
    // The clock was set back: a little, and the step lasts longer; by much, and what there is lies in the future.
    if (step < this.#step - STEPS) this.#restartAt(step);
    if (step <= this.#step) return;
    for (const [policy, totals] of this.#readTotals()) this.#add(policy, totals);
    const skipped = Math.min(step - this.#step, STEPS_KEPT + 1) - 1;
    for (let i = 1; i <= skipped; i++) this.#clear(this.#step + i);
    this.#step = step;
  }

  /**
   * The steps up to `untilMs`, which is the end of a step, for at most so many policies: those with the most requests.
   * Policies without traffic in these steps are left out.
   */
  series(untilMs: number, most: number): PolicySeries[] {
    const end = stepAt(untilMs);
    return this.#busiest(end, most)
      .map(({ policy, row: { rings } }) => ({
        policy,
        requests: this.#unrolled(rings.requests, end),
        denials: this.#unrolled(rings.denials, end),
        wouldDeny: this.#unrolled(rings.wouldDeny, end),
      }))
      .filter(({ requests, wouldDeny }) => requests.length + wouldDeny.length > 0);
  }

  #busiest(end: number, most: number) {
    const busy = [...this.#rows]
      .filter(([, { lastBusy }]) => lastBusy >= end - STEPS)
      .map(([policy, row]) => ({ policy, row }));
    if (busy.length <= most) return busy;
    return busy
      .map((each) => ({ ...each, requests: sumOf(each.row.rings.requests) }))
      .sort((a, b) => b.requests - a.requests)
      .slice(0, most);
  }

  #add(policy: string, totals: PolicyTotals): void {
    const row = this.#rowOf(policy);
    for (const count of COUNTS) {
      const counted = totals[count] - row.totals[count];
      if (counted > 0) {
        row.lastBusy = this.#step;
        row.rings[count] ??= new Uint32Array(STEPS_KEPT);
      }
      const ring = row.rings[count];
      if (ring !== undefined) ring[this.#step % STEPS_KEPT] = counted;
    }
    row.totals = totals;
    if (row.lastBusy <= this.#step - STEPS_KEPT) forget(row);
  }

  #rowOf(policy: string): Row {
    let row = this.#rows.get(policy);
    if (row === undefined) {
      const rings = { requests: undefined, denials: undefined, wouldDeny: undefined };
      row = { totals: NOTHING, lastBusy: Number.NEGATIVE_INFINITY, rings };
      this.#rows.set(policy, row);
    }
    return row;
  }

  #clear(step: number): void {
    for (const { rings } of this.#rows.values()) {
      for (const count of COUNTS) rings[count]?.fill(0, step % STEPS_KEPT, (step % STEPS_KEPT) + 1);
    }
  }

  #restartAt(step: number): void {
    for (const row of this.#rows.values()) forget(row);
    this.#step = step;
  }

  #unrolled(ring: Uint32Array | undefined, end: number): number[] {
    if (ring === undefined) return [];
    let isEmpty = true;
    const counts = new Array<number>(STEPS);
    for (let i = 0; i < STEPS; i++) {
      const step = end - STEPS + i;
      const isKept = step < this.#step && step >= this.#step - STEPS_KEPT;
      const count = isKept ? (ring[step % STEPS_KEPT] ?? 0) : 0;
      if (count > 0) isEmpty = false;
      counts[i] = count;
    }
    return isEmpty ? [] : counts;
  }
}

function forget({ rings }: Row): void {
  for (const count of COUNTS) rings[count] = undefined;
}

function sumOf(ring: Uint32Array | undefined): number {
  let sum = 0;
  for (const count of ring ?? []) sum += count;
  return sum;
}

function stepAt(ms: number): number {
  return Math.floor(ms / STEP_MS);
}
