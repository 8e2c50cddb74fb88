/**
 * Patterns with `*`, each of which stands for any characters or none. Clients choose what is matched, so the work grows
 * with the length of the text alone: no part of it is tried twice.
 */

/** `parts` is a pattern split at its stars: there are at least two. */
export function fits(parts: readonly string[], text: string): boolean {
  const first = parts[0] ?? '';
  const last = parts[parts.length - 1] ?? '';
  const end = text.length - last.length;
  if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (let i = 1; i < parts.length - 1; i++) {
    const part = parts[i] ?? '';
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
    if (at > end) return false;
  }
  return true;
}

/** A descriptor with a `*` in its key or value. It is matched against `key_value` of an entry. */
export class Wildcard<T> {
  readonly target: T;
  readonly pattern: string;
  readonly #parts: readonly string[];
  readonly #key: string | undefined;
  readonly #valueParts: readonly string[];

  /** `pattern` is the key alone, or the key and the value joined by an underscore. */
  constructor(key: string, pattern: string, target: T) {
    this.target = target;
    this.pattern = pattern;
    this.#parts = pattern.split('*');
    // A pattern of the value alone needs no joined text, if the keys are the same.
    const isOfValue = !key.includes('*');
    this.#key = isOfValue ? key : undefined;
    this.#valueParts = isOfValue ? pattern.slice(key.length + 1).split('*') : [];
  }

  matches(key: string, value: string): boolean {
    if (key === this.#key) return fits(this.#valueParts, value);
    return mayStart(this.#parts[0] ?? '', key) && fits(this.#parts, `${key}_${value}`);
  }

  /** Whether it matches all that another pattern matches. False for some pairs of odd patterns where it does. */
  covers(pattern: string): boolean {
    return fits(this.#parts, pattern);
  }
}

/** Whether `key_...` may start with the text. Mostly it does not, and nothing is joined. */
function mayStart(start: string, key: string): boolean {
  if (start.length <= key.length) return key.startsWith(start);
  return start.startsWith(key) && start.charCodeAt(key.length) === 95;
}
