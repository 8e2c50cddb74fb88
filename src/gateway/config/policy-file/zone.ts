import { hint } from '../closest-word.ts';

/** Abbreviations such as `IST` are ambiguous, so a name has an area. Intl knows some that the IANA database does not. */
export const ZONE_PATTERN = /^(?:UTC|[A-Z][A-Za-z]+(?:\/[A-Za-z0-9_+-]+)+)$/;

/** Returns the text. Throws a RangeError whose message names the zone that the author probably meant. */
export function checkZone(text: string): string {
  if (ZONE_PATTERN.test(text) && intlNameOf(text) !== undefined) return text;
  throw new RangeError(`"${text}" is not a time zone${hintFor(text)}`);
}

function intlNameOf(text: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: text }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

function hintFor(text: string): string {
  const known = ['UTC', ...Intl.supportedValuesOf('timeZone')];
  const place = text.trim().replaceAll(' ', '_').toLowerCase();
  const found =
    known.find((zone) => zone.toLowerCase() === place) ??
    known.find((zone) => zone.toLowerCase().endsWith(`/${place}`)) ??
    intlNameOf(text);
  if (found !== undefined && ZONE_PATTERN.test(found)) return `, did you mean "${found}"?`;
  return hint(text, known) || ', write UTC or an area and a place, as in "Europe/Zurich"';
}
