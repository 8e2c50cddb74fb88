/** The own texts of answers: what is refused of them, and how they are made ready to be sent. */
import { filled, templateOf } from '../../core/answer-template.ts';

const MAX_MESSAGE = 1_000;

/** Returns the text. Throws a RangeError that says what is wrong with it. */
export function checkedMessage(text: string): string {
  const { length } = text;
  if (length === 0 || length > MAX_MESSAGE) {
    throw new RangeError(`must have 1 to ${MAX_MESSAGE} characters, and has ${length}`);
  }
  refuseUnknownPlaceholders(text);
  return text;
}

/** NGINX gets it in a header, and has room for it beside the other headers of a denial. */
const MAX_PAGE_BYTES = 8_192;
/** As long as values of these can be: seconds of years, the name of a policy, a tag and a number. */
const LONGEST_VALUES = { seconds: 9_999_999_999, policy: 'x'.repeat(64), id: 'x'.repeat(32) };

/**
 * The page as the value of a header: one line of ASCII, with numeric references (HTML standard, section 13.1.4) for other
 * characters. Throws a RangeError if it is too long, or would mean something else in one line.
 */
export function pageInOneLine(html: string): string {
  const page = html.trim();
  if (!page.startsWith('<')) {
    throw new RangeError(
      'must be HTML, which begins with "<", or the name of a file such as denied.html',
    );
  }
  refuseUnknownPlaceholders(page);
  const lineSensitive = /<(script|pre|textarea|listing|plaintext)\b/i.exec(page)?.[1];
  if (lineSensitive !== undefined) {
    throw new RangeError(
      `has <${lineSensitive}>, which needs its line breaks: pages are sent in one line, so leave it out`,
    );
  }
  for (const [style] of page.matchAll(/<style\b.*?(?:<\/style|$)/gis)) {
    if (/[^\t\n\r -~]/.test(style)) {
      throw new RangeError(
        'has characters beyond ASCII in <style>: write them as escapes of CSS, such as \\2014',
      );
    }
  }
  const lines = page.split(/[\r\n]+/).map((each) => each.trim());
  const line = lines.join(' ').replaceAll(/[^ -~]/gu, referenceTo);
  const bytes = filled(templateOf(line), LONGEST_VALUES, (value) => value)?.length ?? 0;
  if (bytes <= MAX_PAGE_BYTES) return line;
  throw new RangeError(
    `may have ${bytes} bytes in one line of ASCII with its values filled in, the maximum is ${MAX_PAGE_BYTES}: make the page shorter`,
  );
}

function referenceTo(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (character === '\t') return ' ';
  if (code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0xd800 && code < 0xe000)) {
    throw new RangeError(`has a character that HTML does not allow, U+${code.toString(16)}`);
  }
  return `&#${code};`;
}

function refuseUnknownPlaceholders(text: string): void {
  for (const [place] of text.matchAll(/\{ ?\w{1,40} ?\}/g)) {
    if (templateOf(place).length > 1) continue;
    throw new RangeError(
      `has ${place}, which stands for nothing: known are {seconds}, {policy} and {id}`,
    );
  }
}
