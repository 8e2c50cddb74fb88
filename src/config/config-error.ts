/** Configuration that must not be used. Carries every mistake, each a line that names the place and the remedy. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly code = 'HEADGATE_INVALID_CONFIG';
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    const shown = mistakes.map(printable);
    super(shown.join('\n'));
    this.mistakes = shown;
  }
}

/** What a file says may be repeated on a terminal, which would obey its control characters. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`,
  );
}
