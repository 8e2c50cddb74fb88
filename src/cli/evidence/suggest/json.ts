/** Suggestions as JSON, with names in snake case and limits as policy files have them. */
import { percentile } from './choices.ts';
import type { Denied, Measured } from './measure.ts';
import { byStratum } from './peaks.ts';
import type {
  Extent,
  MeasuredChoice,
  Proposal,
  RouteEvidence,
  RouteSuggestion,
  Suggestions,
} from './suggest.ts';
import { rateText, windowText } from './windows.ts';

export function suggestionsJson({ fitted, heldOut, unmatched, routes }: Suggestions) {
  return {
    fitted: extentJson(fitted),
    held_out: heldOut && extentJson(heldOut),
    unmatched_policies: unmatched,
    routes: routes.map(routeJson),
  };
}

function extentJson({ fromMs, toMs, requests, clients }: Extent) {
  const [from, to] = [fromMs, toMs].map((each) => new Date(each).toISOString());
  return { from, to, requests, clients };
}

function routeJson({ route, evidence, proposal }: RouteSuggestion) {
  const { name, title, match, cost } = route;
  return {
    ...{ name, title, match, cost },
    ...evidenceJson(evidence),
    enough_evidence: proposal !== undefined,
    ...(proposal && proposalJson(proposal)),
  };
}

function evidenceJson(evidence: RouteEvidence) {
  return {
    requests: evidence.requests,
    clients: evidence.clients,
    client_days: evidence.clientDays,
    rests_on: { clients: evidence.nonBotClients, client_days: evidence.nonBotDays },
    not_enough_for: evidence.notEnoughFor.map(({ quantile, daysNeeded }) => ({
      quantile: percentile(quantile),
      client_days_needed: daysNeeded,
    })),
    peaks: evidence.peaks.map(({ windowMs, ...rest }) => ({
      window: windowText(windowMs),
      ...rest,
    })),
  };
}

function proposalJson({ certainty, windows, choices }: Proposal) {
  return {
    certainty,
    windows: windows.map(({ windowMs, floor, gap }) => ({
      window: windowText(windowMs),
      floor: { quantile: percentile(floor.quantile), requests: floor.bound },
      gap: gap && { from: gap.from, to: gap.to, ratio: rounded(gap.ratio) },
    })),
    choices: choices.map(choiceJson),
  };
}

function choiceJson({ reason, limits, isRecommended, measured, heldOut }: MeasuredChoice) {
  return {
    limits: limits.map(rateText),
    recommended: isRecommended,
    reason,
    measured: measuredJson(measured),
    held_out: heldOut && measuredJson(heldOut),
  };
}

function measuredJson(measured: Measured) {
  return byStratum((stratum) => {
    const { clients, clientDays, requests } = measured[stratum];
    return {
      clients: deniedJson(clients),
      client_days: deniedJson(clientDays),
      requests: deniedJson(requests),
    };
  });
}

function deniedJson({ denied, of, share, low, high }: Denied) {
  return { denied, of, share: rounded(share), low: rounded(low), high: rounded(high) };
}

/** Six digits are more than the sample supports. */
function rounded(value: number): number {
  return Number(value.toPrecision(6));
}
