/** Proposes limits for each route of a log, and measures each proposal on the log. */
import { DAY_MS } from '../../../gateway/core/identity/salts.ts';
import { ascending, atRank, totalOf } from '../maps.ts';
import { certaintyOf } from './certainty.ts';
import { type ChoiceOptions, choose } from './choices.ts';
import { measure } from './measure.ts';
import { peaksOf, type RoutePeaks } from './peaks.ts';
import type { Route } from './routes.ts';
import { daysNeeded, QUANTILES } from './statistics.ts';
import { type Period, type Traffic, trafficIn } from './traffic.ts';
import type { Recorded } from './traffic-log.ts';

export interface SuggestOptions extends ChoiceOptions {
  /** The end of the log that limits are not fitted to, in milliseconds; whole days. 0 for none. */
  readonly holdoutMs: number;
}

export type RouteEvidence = ReturnType<typeof evidenceOf>;
export type RouteSuggestion = ReturnType<typeof suggestRoute>;
export type Proposal = NonNullable<RouteSuggestion['proposal']>;
export type MeasuredChoice = Proposal['choices'][number];
/** Which requests were counted. Times in milliseconds since the epoch, of the first and the last one. */
export type Extent = ReturnType<typeof extentOf>;

export interface Suggestions {
  readonly fitted: Extent;
  readonly heldOut: Extent | undefined;
  readonly unmatched: readonly string[];
  readonly routes: readonly RouteSuggestion[];
}

export function suggest(recorded: Recorded, options: SuggestOptions): Suggestions {
  const { fit, holdout } = periods(recorded, options.holdoutMs);
  const fitted = trafficIn(recorded, fit);
  const heldOut = holdout && trafficIn(recorded, holdout, fitted.routes);
  const routes = fitted.routes.routes.flatMap((route, i) => {
    const [own, later] = [fitted.byRoute[i], heldOut?.byRoute[i]];
    if (own === undefined || own.requests === 0) return [];
    const peaks = { fitted: peaksOf(own), heldOut: later && peaksOf(later) };
    return suggestRoute(route, peaks, { ...options, spanMs: fitted.toMs - fitted.fromMs });
  });
  routes.sort(byImportance);
  const unmatched = fitted.routes.routes
    .filter((_, i) => fitted.byRoute[i]?.requests === 0)
    .filter(({ match, name }) => match === undefined && name !== 'default')
    .map(({ name }) => name);
  return { fitted: extentOf(fitted), heldOut: heldOut && extentOf(heldOut), unmatched, routes };
}

function periods({ timesMs }: Recorded, holdoutMs: number) {
  const lastMs = timesMs.at(-1) ?? 0;
  const always: Period = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY };
  if (holdoutMs === 0) return { fit: always, holdout: undefined };
  const endMs = (Math.floor(lastMs / DAY_MS) + 1) * DAY_MS;
  const cutMs = endMs - holdoutMs;
  return { fit: { ...always, toMs: cutMs }, holdout: { ...always, fromMs: cutMs } };
}

function extentOf({ fromMs, toMs, requests, clients }: Traffic) {
  return { fromMs, toMs, requests, clients };
}

function byImportance(a: RouteSuggestion, b: RouteSuggestion): number {
  const isLast = Number(a.route.name === 'default') - Number(b.route.name === 'default');
  return isLast || b.evidence.requests - a.evidence.requests;
}

function suggestRoute(
  route: Route,
  { fitted, heldOut }: { fitted: RoutePeaks; heldOut: RoutePeaks | undefined },
  options: Parameters<typeof choose>[1],
) {
  const evidence = evidenceOf(fitted);
  const found = choose(fitted, options);
  if (found === undefined) return { route, evidence, proposal: undefined };
  const choices = found.choices.map((choice) => ({
    ...choice,
    measured: measure(fitted, choice.limits),
    heldOut: heldOut && measure(heldOut, choice.limits),
  }));
  return {
    route,
    evidence,
    proposal: { windows: found.windows, choices, certainty: certaintyOf(evidence, choices) },
  };
}

function evidenceOf(peaks: RoutePeaks) {
  const { traffic, clients, clientDays, nonBotClients, nonBotDays } = peaks;
  const missing = QUANTILES.filter((quantile) => nonBotDays < daysNeeded(quantile));
  return {
    requests: traffic.requests,
    clients,
    clientDays,
    nonBotClients,
    nonBotDays,
    hasOutliers: peaks.windows.some((each) => each.hasOutliers),
    peaks: peaks.windows.map(peakQuantiles),
    notEnoughFor: missing.map((quantile) => ({ quantile, daysNeeded: daysNeeded(quantile) })),
  };
}

function peakQuantiles({ windowMs, nonBots }: RoutePeaks['windows'][number]) {
  const sorted = ascending(nonBots);
  const [p50 = 0, p90 = 0, p99 = 0, max = 0] = [0.5, 0.9, 0.99, 1].map((quantile) =>
    atRank(sorted, quantile * totalOf(nonBots)),
  );
  return { windowMs, p50, p90, p99, max };
}
