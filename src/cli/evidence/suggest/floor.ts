/**
 * The floor: an upper bound on a quantile of the peaks, which holds with 95 % confidence whatever the distribution is
 * (order statistics). A limit at the floor leaves that share of client-days alone.
 */
import type { Histogram } from './histogram.ts';

export const QUANTILES: readonly number[] = [0.999, 0.99, 0.95, 0.9];
const CONFIDENCE = 0.95;

export interface Floor {
  readonly quantile: number;
  /** Requests. */
  readonly bound: number;
}

/** The client-days that are needed for a quantile: then their maximum is a bound. 299 for 0.99, 2995 for 0.999. */
export function daysNeeded(quantile: number): number {
  return Math.ceil(Math.log(1 - CONFIDENCE) / Math.log(quantile));
}

/** Undefined if there is not enough evidence. */
export function floorOf(peaks: Histogram, quantile: number): Floor | undefined {
  const above = valuesAbove(peaks.total, quantile);
  if (above === undefined) return undefined;
  return { quantile, bound: peaks.atRank(peaks.total - above) };
}

/** The floor of the highest quantile that there is evidence for. */
export function bestFloor(peaks: Histogram): Floor | undefined {
  const quantile = QUANTILES.find((each) => peaks.total >= daysNeeded(each));
  return quantile === undefined ? undefined : floorOf(peaks, quantile);
}

/**
 * How many of `total` values may lie above the bound: the greatest m for which at most m values above the true quantile
 * are less likely than 5 %. Undefined if even none is likelier. Sums a binomial distribution by its logarithms.
 */
export function valuesAbove(total: number, quantile: number): number | undefined {
  const share = 1 - quantile;
  let logTerm = total * Math.log(quantile);
  let logSum = logTerm;
  const logLimit = Math.log(1 - CONFIDENCE);
  if (total === 0 || logSum > logLimit) return undefined;
  let above = 0;
  for (; above < total; above++) {
    logTerm += Math.log((total - above) / (above + 1)) + Math.log(share / quantile);
    const [less, more] = logSum < logTerm ? [logSum, logTerm] : [logTerm, logSum];
    logSum = more + Math.log1p(Math.exp(less - more));
    if (logSum > logLimit) break;
  }
  return above;
}
