/**
 * The parts of a file in deploy/ that an existing configuration needs. A part starts with the comment
 * `# headgate: part for PLACE` and ends with `# headgate: end of part`. The first line says where the
 * part goes, so it is printed too.
 */
const START = /^\s*# headgate: part for /;
const END = /^\s*# headgate: end of part$/;

/** The parts, without their indentation. */
export function partsOf(text: string): string {
  const parts: string[] = [];
  let indent: string | undefined;
  for (const line of text.split('\n')) {
    if (indent === undefined && START.test(line)) {
      indent = line.slice(0, line.indexOf('#'));
      if (parts.length > 0) parts.push('');
    }
    if (indent === undefined) continue;
    parts.push(line.startsWith(indent) ? line.slice(indent.length) : line.trimStart());
    if (END.test(line)) indent = undefined;
  }
  return `${parts.join('\n')}\n`;
}

/**
 * The parts whose place has this word among its first three, such as `server` of "the block server". Throws a RangeError,
 * which names the words of `known` if there are some.
 */
export function partsFor(word: string, text: string, known: readonly string[] = []): string {
  const all = partsOf(text).split(BETWEEN);
  const found = all.filter((part) => wordsOf(placeOf(part)).includes(word.toLowerCase()));
  if (found.length > 0) return found.join('');
  if (known.length > 0)
    throw new RangeError(`there is no part for "${word}"; name one of ${known.join(', ')}`);
  const places = [...new Set(all.map(placeOf))].join('; ');
  throw new RangeError(`there is no part for "${word}"; the parts are for: ${places}`);
}

const BETWEEN = /^(?=# headgate: part for )/m;

function placeOf(part: string): string {
  return /^# headgate: part for (.*)/.exec(part)?.[1] ?? '';
}

function wordsOf(place: string): string[] {
  return place
    .toLowerCase()
    .split(/[^a-z]+/)
    .slice(0, 3);
}
