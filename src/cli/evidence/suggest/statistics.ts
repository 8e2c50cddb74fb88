/** The statistics behind limits: floors, gaps, and intervals that contain the true share. */
import { ascending, atRank, type Histogram, totalOf } from '../maps.ts';

export const QUANTILES: readonly number[] = [0.999, 0.99, 0.95, 0.9];
const CONFIDENCE = 0.95;

export interface Floor {
  readonly quantile: number;
  readonly bound: number;
}

/** The client-days that are needed for a quantile: then their maximum is a bound. 299 for 0.99, 2995 for 0.999. */
export function daysNeeded(quantile: number): number {
  return Math.ceil(Math.log(1 - CONFIDENCE) / Math.log(quantile));
}

export function floorOf(peaks: Histogram, quantile: number): Floor | undefined {
  const total = totalOf(peaks);
  const above = valuesAbove(total, quantile);
  if (above === undefined) return undefined;
  return { quantile, bound: atRank(ascending(peaks), total - above) };
}

/** The floor of the highest quantile that there is evidence for. */
export function bestFloor(peaks: Histogram): Floor | undefined {
  const total = totalOf(peaks);
  const quantile = QUANTILES.find((each) => total >= daysNeeded(each));
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

export interface Gap {
  readonly from: number;
  readonly to: number;
  readonly ratio: number;
}

/** The gaps at or above a floor whose ends differ by this ratio, from the lowest. `peaks` are in ascending order. */
export function gapsAbove(
  peaks: readonly (readonly [peak: number, count: number])[],
  floor: number,
  leastRatio: number,
): Gap[] {
  const gaps: Gap[] = [];
  let from = floor;
  for (const [to] of peaks) {
    if (to <= floor) continue;
    if (to >= leastRatio * from) gaps.push({ from, to, ratio: to / from });
    from = to;
  }
  return gaps;
}

export interface Share {
  readonly share: number;
  readonly low: number;
  readonly high: number;
}

const Z = 1.96;
const NOTHING: Share = { share: 0, low: 0, high: 1 };

/** The share of independent trials, such as clients (E. B. Wilson, 1927). It is right for few trials and small shares, too. */
export function shareOfTrials(hits: number, trials: number): Share {
  if (trials === 0) return NOTHING;
  const share = hits / trials;
  const weight = (Z * Z) / trials;
  const middle = (share + weight / 2) / (1 + weight);
  const half =
    (Z * Math.sqrt((share * (1 - share)) / trials + weight / (4 * trials))) / (1 + weight);
  return {
    share,
    low: hits === 0 ? 0 : Math.max(0, middle - half),
    high: hits === trials ? 1 : Math.min(1, middle + half),
  };
}

export type ClusterSums = ReturnType<typeof noClusters>;

/** Sums over clients. `parts` is how many of the client's requests were denied, of `wholes` requests. */
export const noClusters = () => ({
  ...{ clients: 0, parts: 0, wholes: 0, partsSquared: 0, wholesSquared: 0, products: 0 },
});

export function addCluster(sums: ClusterSums, parts: number, wholes: number): void {
  sums.clients++;
  sums.parts += parts;
  sums.wholes += wholes;
  sums.partsSquared += parts * parts;
  sums.wholesSquared += wholes * wholes;
  sums.products += parts * wholes;
}

/**
 * Of requests. Those of one client are denied together, so clients vary and not requests (W. G. Cochran, Sampling
 * Techniques, chapter 9). Without a hit the share of clients is the bound.
 */
export function shareOfClusters(sums: ClusterSums): Share {
  const { clients, parts, wholes, partsSquared, wholesSquared, products } = sums;
  if (wholes === 0) return NOTHING;
  if (parts === 0) return shareOfTrials(0, clients);
  const share = parts / wholes;
  const squares = partsSquared - 2 * share * products + share * share * wholesSquared;
  const deviation =
    clients < 2 ? 1 : Math.sqrt((Math.max(0, squares) * clients) / (clients - 1)) / wholes;
  return {
    share,
    low: Math.max(0, share - Z * deviation),
    high: Math.min(1, share + Z * deviation),
  };
}
