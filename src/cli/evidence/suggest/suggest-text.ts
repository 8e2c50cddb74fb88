/** Prints suggestions for people: for each route the evidence, and a table of choices. */

import { columns } from '../../output/output.ts';
import { count, counted } from '../figures.ts';
import type { Measured } from './measure.ts';
import { STRATA, type Stratum } from './strata.ts';
import type { RouteSuggestion, Suggestions } from './suggest.ts';
import { rateText, windowText } from './windows.ts';
import {
  deniedClientsText,
  evidenceText,
  extentText,
  intervalText,
  lackText,
  STRATUM_WORDS,
} from './words.ts';

const INDENT = '  ';

export function suggestText(suggestions: Suggestions, notes: readonly string[]): string[] {
  const { fitted, heldOut, routes } = suggestions;
  return [
    `log       ${extentText(fitted)}`,
    ...(heldOut === undefined ? [] : [`held out  ${extentText(heldOut)}`]),
    ...notes.map((note) => `note      ${note}`),
    'Each choice shows how many clients it would have denied at least once; in parentheses the range of',
    'the true share, with 95 % confidence. * marks the recommended choice. -o yaml writes it as a policy file.',
    ...routes.flatMap((each) => ['', ...routeText(each)]),
  ];
}

function routeText({ route, evidence, proposal }: RouteSuggestion): string[] {
  const title = `${route.title}: ${counted(evidence.requests, 'request')}`;
  if (proposal === undefined) {
    return [title, `${INDENT}not enough evidence: ${lackText(evidence)}`];
  }
  const { windows, certainty, choices } = proposal;
  const present = STRATA.filter((stratum) => evidence.clientDays[stratum] > 0);
  const rows = choices.map((choice) => [
    choice.isRecommended ? '*' : '',
    choice.limits.map(rateText).join(' '),
    ...present.map((stratum) => cellOf(choice.measured, stratum)),
    requestsCell(choice.measured),
    ...(choice.heldOut === undefined ? [] : [deniedClientsText(choice.heldOut.ordinary)]),
    choice.reason,
  ]);
  const names = present.map((stratum) => STRATUM_WORDS[stratum]);
  const heldOut = choices.some((choice) => choice.heldOut !== undefined);
  const header = [
    '',
    'limits',
    ...names,
    'requests',
    ...(heldOut ? ['clients, held out'] : []),
    'reason',
  ];
  const peaks = evidence.peaks.filter(({ windowMs }) =>
    windows.some((each) => each.windowMs === windowMs),
  );
  return [
    title,
    `${INDENT}evidence  ${evidenceText(evidence)}; certainty: ${certainty}`,
    ...peaks.map(
      ({ windowMs, p50, p99, max }) =>
        `${INDENT}peaks     in ${windowText(windowMs)}: p50 ${count(p50)}, p99 ${count(p99)}, maximum ${count(max)}`,
    ),
    ...windows.flatMap(({ windowMs, gap }) =>
      gap === undefined
        ? []
        : [
            `${INDENT}gap       in ${windowText(windowMs)}: no client between ${count(gap.from)} and ${count(gap.to)}`,
          ],
    ),
    ...columns([header, ...rows]).map((line) => INDENT + line),
  ];
}

/** Few clients need no interval. */
function cellOf(measured: Measured, stratum: Stratum): string {
  const touched = measured[stratum];
  if (stratum === 'ordinary') return deniedClientsText(touched);
  return `${count(touched.deniedClients)} of ${count(touched.clients)}`;
}

function requestsCell({ ordinary }: Measured): string {
  return ordinary.requests === 0 ? '' : intervalText(ordinary.requestShare);
}
