import { distance } from 'fastest-levenshtein';

export function closest(word: string, known: readonly string[]): string | undefined {
  const likely = known
    .map((candidate) => ({ candidate, edits: distance(word, candidate) }))
    .filter(
      ({ candidate, edits }) =>
        edits < Math.min(word.length, candidate.length) &&
        edits <= Math.max(2, candidate.length / 3),
    );
  return likely.sort((a, b) => a.edits - b.edits)[0]?.candidate;
}

/** `, did you mean "word"?`, or an empty text if no known word is similar. */
export function hint(word: string, known: readonly string[]): string {
  const meant = closest(word, known);
  return meant === undefined ? '' : `, did you mean "${meant}"?`;
}
