/** What a reader of suggestions should do or know, by what they would deny. */
import type { Proposal, Suggestions } from './suggest.ts';

export function adviceOn({ routes }: Suggestions): string[] {
  const proposals = routes.flatMap(({ proposal }) => proposal ?? []);
  const advice: string[] = [];
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
