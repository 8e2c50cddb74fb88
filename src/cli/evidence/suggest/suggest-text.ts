/** Suggestions for people: for each route the evidence, and a table of choices. */
import { columns } from '../../output/table.ts';
import { count, counted } from '../figures.ts';
import { STRATA } from './strata.ts';
import type { MeasuredChoice, RouteSuggestion, Suggestions } from './suggest.ts';
import { rateText, windowText } from './windows.ts';
import {
  deniedText,
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
  const isHeldOut = choices.some(({ heldOut }) => heldOut !== undefined);
  const cells: Record<string, (choice: MeasuredChoice) => string> = {
    '': ({ isRecommended }) => (isRecommended ? '*' : ''),
    limits: ({ limits }) => limits.map(rateText).join(' '),
    ...Object.fromEntries(
      present.map((stratum) => [
        STRATUM_WORDS[stratum],
        ({ measured }: MeasuredChoice) => {
          const { clients } = measured[stratum];
          // Few clients need no interval.
          if (stratum !== 'ordinary') return `${count(clients.denied)} of ${count(clients.of)}`;
          return deniedText(clients);
        },
      ]),
    ),
    requests: ({ measured: { ordinary } }) =>
      ordinary.requests.of === 0 ? '' : intervalText(ordinary.requests),
    ...(isHeldOut && {
      'clients, held out': ({ heldOut }) => (heldOut ? deniedText(heldOut.ordinary.clients) : ''),
    }),
    reason: ({ reason }) => reason,
  };
  const rows = choices.map((choice) => Object.values(cells).map((cell) => cell(choice)));
  const lines = [`evidence  ${evidenceText(evidence)}; certainty: ${certainty}`];
  for (const { windowMs, p50, p99, max } of evidence.peaks) {
    if (!windows.some((each) => each.windowMs === windowMs)) continue;
    lines.push(
      `peaks     in ${windowText(windowMs)}: p50 ${count(p50)}, p99 ${count(p99)}, maximum ${count(max)}`,
    );
  }
  for (const { windowMs, gap } of windows) {
    if (gap === undefined) continue;
    lines.push(
      `gap       in ${windowText(windowMs)}: no client but bots between ${count(gap.from)} and ${count(gap.to)}`,
    );
  }
  lines.push(...columns([Object.keys(cells), ...rows]));
  return [title, ...lines.map((line) => INDENT + line)];
}
