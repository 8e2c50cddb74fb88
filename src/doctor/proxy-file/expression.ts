/** Whether the simple regular expressions of routes match a path. It runs none, because they come from files. */

export interface Subject {
  readonly path: string;
  readonly ignoresCase: boolean;
}

/** What an expression begins with. */
interface Reading {
  readonly text: string;
  readonly isEnded: boolean;
}

/** A literal character, a group of literals, the rest of a path, or the end. */
const TOKEN =
  /\\([^a-z0-9])(?![*+?{])|\((?:\?:)?([^()[\]{}*+?\\.^]*)\)(\?)?(?![*+?{])|(\.[*+]\$?)$|(\$)$|([^\\()[\]{}*+?.|^$])(?![*+{])(\?)?/giy;

/** Undefined if the expression has other forms, and may match. */
export function matchesExpression(
  expression: string,
  { path, ignoresCase }: Subject,
): boolean | undefined {
  const written = ignoresCase ? expression.toLowerCase() : expression;
  const subject = ignoresCase ? path.toLowerCase() : path;
  const isStart = written.startsWith('^');
  // Between alternatives, an expression has several beginnings.
  if (written.replaceAll(/\\.|\([^()]*\)/g, '').includes('|')) return undefined;
  const { readings, isRead } = readingsOf(isStart ? written.slice(1) : written);
  const isBegun = readings.map(({ text, isEnded }) => {
    if (!isEnded) return isStart ? subject.startsWith(text) : subject.includes(text);
    return isStart ? subject === text : subject.endsWith(text);
  });
  if (!isBegun.includes(true)) return false;
  return isRead ? true : undefined;
}

function readingsOf(expression: string): { readings: readonly Reading[]; isRead: boolean } {
  let readings: readonly Reading[] = [{ text: '', isEnded: false }];
  let end = 0;
  for (const match of expression.matchAll(TOKEN)) {
    const [token, escaped, group, groupMark, rest, last, character, mark] = match;
    const texts = escaped === undefined ? (group?.split('|') ?? [character ?? '']) : [escaped];
    const isOptional = groupMark !== undefined || mark !== undefined;
    end = match.index + token.length;
    if (rest !== undefined) break;
    if (last !== undefined) readings = readings.map(({ text }) => ({ text, isEnded: true }));
    else readings = readings.flatMap((each) => longer(each, isOptional ? [...texts, ''] : texts));
    if (readings.length > MOST_READINGS) return { readings, isRead: false };
  }
  return { readings, isRead: end === expression.length };
}

const MOST_READINGS = 1_000;

function longer(reading: Reading, texts: readonly string[]): Reading[] {
  if (reading.isEnded) return [reading];
  return texts.map((each) => ({
    text: reading.text + each.replace(/\$$/, ''),
    isEnded: each.endsWith('$'),
  }));
}
