/** Intervals that contain the true share with 95 % confidence. */

export interface Share {
  readonly share: number;
  readonly low: number;
  readonly high: number;
}

const Z = 1.96;
const NOTHING: Share = { share: 0, low: 0, high: 1 };

/** Of independent trials, such as clients (E. B. Wilson, 1927). It is right for few trials and small shares, too. */
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

/** Sums over clients. `parts` is how many of the client's requests were denied, of `wholes` requests. */
export interface ClusterSums {
  clients: number;
  parts: number;
  wholes: number;
  partsSquared: number;
  wholesSquared: number;
  products: number;
}

export const noClusters = (): ClusterSums => ({
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
