/** What was probably meant by a word that is not known. */
import { distance } from 'fastest-levenshtein';

/** The known word that is so like this one that it was probably meant. */
function closest(word: string, known: readonly string[]): string | undefined {
  const likely = known
    .map((candidate) => ({ candidate, far: distance(word, candidate) }))
    .filter(
      ({ candidate, far }) => far < candidate.length && far <= Math.max(2, candidate.length / 3),
    );
  return likely.sort((a, b) => a.far - b.far)[0]?.candidate;
}

/** `, did you mean "word"?`, or nothing. */
export function hint(word: string, known: readonly string[]): string {
  const meant = closest(word, known);
  return meant === undefined ? '' : `, did you mean "${meant}"?`;
}
