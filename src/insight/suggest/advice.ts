/** What a reader of suggestions should do or know, by what they would deny. */
import type { Proposal, Suggestions } from './suggest.ts';

/** A day whose nights have few requests. */
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
    advice.push('The limits deny declared bots, too: list those that you welcome under exempt.');
  }
  if (proposals.some(({ certainty }) => certainty === 'low')) {
    advice.push(
      'Where the certainty is low, keep the policy in shadow mode until a longer log agrees.',
    );
  }
  return advice;
}

function deniesDeclaredBots({ choices }: Proposal): boolean {
  const recommended = choices.find(({ isRecommended }) => isRecommended);
  return (recommended?.measured.declared_bot.deniedClients ?? 0) > 0;
}
