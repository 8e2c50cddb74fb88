/**
 * Text of others for terminals, which obey control characters: they move the cursor, rewrite what was printed before, or
 * turn the direction of writing. Such a character is shown as an escape instead.
 */

/** Controls of both sets (C0, C1), line breaks, and what is invisible or changes the direction. */
const OBEYED = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
/** The same in JSON, where line breaks stand between values only. */
const OBEYED_IN_JSON = /[^\P{Cc}\n]|[\p{Cf}\u2028\u2029]/gu;

/** One line, with `\u{1b}` in place of the character. */
export function printable(text: string): string {
  return text.replace(OBEYED, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}

/** Of a JSON document: the same document, with escapes that JSON has. */
export function printableJson(json: string): string {
  return json.replace(OBEYED_IN_JSON, (char) =>
    Array.from({ length: char.length }, (_, i) => {
      return `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`;
    }).join(''),
  );
}
