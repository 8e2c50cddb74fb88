/** What a reader of suggestions should do or know, by what they would deny. */
import { count } from '../figures.ts';
import type { Proposal, RouteSuggestion, Suggestions } from './suggest.ts';
import { windowText } from './windows.ts';

const FAR_ABOVE = 10;
/** A day may have few requests in its night. */
const SHORT_MS = 20 * 3_600_000;

export function adviceOn({ routes, fitted }: Suggestions): string[] {
  const proposals = routes.flatMap(({ proposal }) => proposal ?? []);
  const advice: string[] = [];
  if (fitted.toMs - fitted.fromMs < SHORT_MS) {
    advice.push(
      'The log covers less than a day. Peaks of a whole day may be higher, and windows longer than half of the log are left out.',
    );
  }
  if (proposals.some(deniesDeclaredBots)) {
    advice.push(
      "The limits deny declared bots, too: list those that you welcome under exempt. If they are an app's users, the limits are too low.",
    );
  }
  if (proposals.some(({ certainty }) => certainty === 'low')) {
    advice.push(
      'Where the certainty is low, keep the policy in shadow mode until a longer log agrees.',
    );
  }
  return [...advice, ...routes.flatMap(outliersIn)];
}

function outliersIn({ route, evidence, proposal }: RouteSuggestion): string[] {
  const chosen = proposal?.windows.map(({ windowMs }) => windowMs) ?? [];
  const found = evidence.peaks.find(
    ({ windowMs, p99, max }) => chosen.includes(windowMs) && max >= FAR_ABOVE * p99,
  );
  if (found === undefined) return [];
  const { windowMs, p99, max } = found;
  const next = evidence.hasOutliers
    ? 'The limits deny them. If they are welcome, list them under exempt, or take a more generous choice.'
    : 'They raise the limits. If they are not welcome, take a stricter choice.';
  return [
    `${route.title}: a few clients send up to ${count(max)} requests in ${windowText(windowMs)}, far above p99 (${count(p99)}). ${next}`,
  ];
}

function deniesDeclaredBots({ choices }: Proposal): boolean {
  return choices.some(
    ({ isRecommended, measured }) => isRecommended && measured.declared_bot.clients.denied > 0,
  );
}
