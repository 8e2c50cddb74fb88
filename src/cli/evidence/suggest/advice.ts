/** What a reader of suggestions should do or know, by what they would deny. */
import { count } from '../figures.ts';
import type { Proposal, RouteEvidence, RouteSuggestion, Suggestions } from './suggest.ts';
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
  const recommended = proposal?.choices.find(({ isRecommended }) => isRecommended);
  for (const { limit, windowMs } of recommended?.limits ?? []) {
    const found = evidence.peaks.find((each) => each.windowMs === windowMs);
    const usual = found && usualBelow(found);
    if (found === undefined || usual === undefined) continue;
    const next =
      found.max > limit
        ? 'The limits deny them. If they are welcome, list them under exempt, or take a more generous choice.'
        : 'They raise the limits. If they are not welcome, take a stricter choice.';
    return [
      `${route.title}: a few clients send up to ${count(found.max)} requests in ${windowText(windowMs)}, far above ${usual}. ${next}`,
    ];
  }
  return [];
}

/** The quantile that a few clients are far above; undefined without such clients. */
function usualBelow({ p90, p99, max }: RouteEvidence['peaks'][number]): string | undefined {
  if (max >= FAR_ABOVE * p99) return `p99 (${count(p99)})`;
  return p99 >= FAR_ABOVE * p90 ? `p90 (${count(p90)})` : undefined;
}

function deniesDeclaredBots({ choices }: Proposal): boolean {
  return choices.some(
    ({ isRecommended, measured }) => isRecommended && measured.declared_bot.clients.denied > 0,
  );
}
