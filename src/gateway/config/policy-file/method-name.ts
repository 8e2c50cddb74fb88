/** Validates methods of policies: upper case, one at a time. */

export const METHOD_PATTERN = /^[A-Z]+(-[A-Z]+)*$/;
const MAX_LENGTH = 64;
const EVERY_METHOD = /^(any|all|\*|\.\*)$/i;
const SEVERAL = /^[\^(]*[a-z-]+(\s*[|,/\s]\s*[a-z-]+)*[)$]*$/i;
const FORM = 'must be an upper-case method, such as POST';

/** Returns the method. Throws a RangeError whose message gives the right form. */
export function checkMethodName(text: string): string {
  if (text.length > MAX_LENGTH) throw new RangeError(FORM);
  if (EVERY_METHOD.test(text)) {
    throw new RangeError(`"${text}" means every method: leave out "method"`);
  }
  if (METHOD_PATTERN.test(text)) return text;
  const meant = SEVERAL.test(text.trim()) ? (text.toUpperCase().match(/[A-Z-]+/g) ?? []) : [];
  if (meant.length === 0 || !meant.every((each) => METHOD_PATTERN.test(each))) {
    throw new RangeError(FORM);
  }
  const remedy = meant.length === 1 ? meant[0] : `[${meant.join(', ')}]`;
  throw new RangeError(`"${text}" ${FORM}: write ${remedy}`);
}
