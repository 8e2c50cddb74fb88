/** The clients of a limit by their peaks, in bins of whole numbers. No bin has peaks on both sides of the limit. */
import { atRank } from '../maps.ts';
import type { LimitChart } from '../replay/charts.ts';

export interface PeakBin {
  readonly least: number;
  readonly most: number;
  readonly clients: number;
  readonly isOver: boolean;
}

export type PeakSummary = ReturnType<typeof summaryOf>;

const MOST_SINGLE = 40;
const STEPS = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];

export function summaryOf({ limit, peaks }: LimitChart) {
  const highest = peaks.at(-1)?.[0] ?? 0;
  const top = Math.max(highest, limit) + 1;
  const isLogarithmic = top > MOST_SINGLE;
  const starts = isLogarithmic
    ? growingStarts(top, limit)
    : Array.from({ length: top }, (_, i) => i + 1);
  const counts = new Array<number>(starts.length).fill(0);
  let clients = 0;
  let over = 0;
  let bin = 0;
  for (const [peak, ofPeak] of peaks) {
    while ((starts[bin + 1] ?? Number.POSITIVE_INFINITY) <= peak) bin++;
    counts[bin] = (counts[bin] ?? 0) + ofPeak;
    clients += ofPeak;
    if (peak > limit) over += ofPeak;
  }
  const bins = starts.map(
    (least, i): PeakBin => ({
      least,
      most: (starts[i + 1] ?? top + 1) - 1,
      clients: counts[i] ?? 0,
      isOver: least > limit,
    }),
  );
  const quantile = (share: number) => atRank(peaks, share * clients);
  return {
    ...{ bins, clients, over, highest, isLogarithmic },
    ...{ median: quantile(0.5), p99: quantile(0.99) },
  };
}

function growingStarts(top: number, limit: number): number[] {
  const starts = new Set<number>([1, limit + 1]);
  for (let power = 1; power <= top; power *= 10) {
    for (const step of STEPS) {
      const start = step * power;
      if (Number.isInteger(start) && start <= top) starts.add(start);
    }
  }
  return [...starts].sort((a, b) => a - b);
}
