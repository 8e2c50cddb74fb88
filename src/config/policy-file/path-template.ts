/**
 * Path templates of policies: `/users/:id/files/*`. Whole segments only, and no other pattern language: what looks like
 * one is a mistake, since it would match nothing. Any other character is itself, and `%28` is a literal "(".
 */
import { canonicalPath } from '../../core/path.ts';
import { asTarget } from '../check/spellings.ts';
import { patternMistake } from './path-patterns.ts';

/** Nobody's path is longer, and every check below stays short. */
const MAX_LENGTH = 1_024;

/** Returns the template. Throws a RangeError that says how it would be right. */
export function checkPathTemplate(text: string): string {
  if (text.length > MAX_LENGTH) {
    throw new RangeError(`must have at most ${MAX_LENGTH} characters`);
  }
  const mistake = patternMistake(text);
  if (mistake !== undefined) throw new RangeError(mistake);
  const path = literalPath(text);
  const canonical = canonicalPath(asTarget(path), true);
  if (canonical.path !== path) {
    throw new RangeError(`"${text}" is never matched, paths are compared as "${canonical.path}"`);
  }
  return text;
}

/** The template with its escapes decoded, as the matcher takes it. Throws a RangeError for one that has no meaning. */
export function literalPath(template: string): string {
  return template.includes('%') ? template.split('/').map(literalSegment).join('/') : template;
}

/** What the matcher would take for something else than a character, and what no honest client sends. */
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
      `"${segment}" has a "%" that begins no character, write "%25" for a percent sign`,
    );
  }
}
