/** Escapes foreign text, which could move a terminal's cursor, overwrite output or change the direction of writing. */

const UNSAFE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
/** In JSON, line breaks occur only between values, so they are safe. */
const UNSAFE_IN_JSON = /[^\P{Cc}\n]|[\p{Cf}\u2028\u2029]/gu;

/** A text without C0 and C1. Other languages read this pattern too, so it has no `\p`, which Python lacks. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: These are what it keeps out.
export const WITHOUT_CONTROLS = /^[^\u0000-\u001f\u007f-\u009f]*$/u;

/** One line, with escapes such as `\u{1b}` in place of unsafe characters. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}

export function printableJson(json: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return json.replace(UNSAFE_IN_JSON, (char) => char.split('').map(escaped).join(''));
}
