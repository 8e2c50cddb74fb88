/** Parameters and `*` are whole segments of a path template. Other characters stand for themselves; `%28` is a literal "(". */
import { canonicalPath } from '../../core/path/path.ts';
import { patternMistake } from './path-patterns.ts';

/** Real paths are shorter. The bound keeps the checks below fast. */
const MAX_LENGTH = 1_024;

/** Returns the template. Throws a RangeError whose message gives the right form. */
export function checkPathTemplate(text: string): string {
  if (text.length > MAX_LENGTH) {
    throw new RangeError(`must have at most ${MAX_LENGTH} characters`);
  }
  const mistake = patternMistake(text);
  if (mistake !== undefined) throw new RangeError(mistake);
  const path = literalPath(text);
  const canonical = canonicalPath(targetOf(path), true);
  if (canonical.path !== path) {
    throw new RangeError(
      `"${text}" never matches, because paths are compared as "${canonical.path}": write that`,
    );
  }
  return text;
}

/** The path as a client sends it: other characters than those of a path are percent-encoded. */
export function targetOf(path: string): string {
  return path.toWellFormed().replace(/[^a-z0-9\-_~!$&'()*+,=:@./]/giu, encodeURIComponent);
}

/** Decodes the escapes of a template for the matcher. Throws a RangeError if they cannot be decoded. */
export function literalPath(template: string): string {
  return template.includes('%') ? template.split('/').map(literalSegment).join('/') : template;
}

const NOT_LITERAL = /^:|[*?#\p{Cc}]/u;

function literalSegment(segment: string): string {
  if (!segment.includes('%')) return segment;
  const literal = decoded(segment);
  if (/[/\\]/.test(literal)) {
    const compared = literal.replaceAll('\\', '/');
    throw new RangeError(`"${segment}" is compared as "${compared}", write that`);
  }
  if (!NOT_LITERAL.test(literal)) return literal;
  throw new RangeError(`"${segment}" cannot be matched literally, write ":name" for this segment`);
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new RangeError(
      `"${segment}" has a "%" that is not an escape, write "%25" for a percent sign`,
    );
  }
}
