/** Tells identifiers from words by their form. */

const LONGEST_WORD = 40;
const IDENTIFIERS: readonly RegExp[] = [
  // A number, a date, or a word with a number: 17, 2026-11-22, order-10432.
  /^\d+$/,
  /\d{4,}/,
  /^\d{4}-\d{2}(?:-\d{2})?$/,
  // A UUID, a digest, a random text of base64url.
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
  /^(?=.*\d)[0-9a-f]{12,}$/,
  /^(?=(?:.*\d){3})[\w=-]{16,}$/,
  // An e-mail address.
  /@/,
];
const PLAIN = /^[a-z0-9._~-]+$/;

export function isIdentifier(segment: string): boolean {
  return (
    segment.length > LONGEST_WORD ||
    !PLAIN.test(segment) ||
    IDENTIFIERS.some((form) => form.test(segment))
  );
}
