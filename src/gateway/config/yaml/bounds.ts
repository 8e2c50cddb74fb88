/** Bounds on the size of a YAML text. The parser recurses and has none, so these are checked before it runs. */

export interface YamlBounds {
  readonly maxBytes: number;
  /** Approximate number of values, keys and lines: each takes memory and time. */
  readonly maxParts: number;
}

const MAX_DEPTH = 64;

export function boundsMistake(
  text: string,
  { maxBytes, maxParts }: YamlBounds,
): string | undefined {
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) return `the file has ${bytes} bytes, the maximum is ${maxBytes}`;
  if (exceedsParts(text, maxParts)) {
    return `the file has more than ${maxParts} values, keys and lines`;
  }
  return exceedsDepth(text) ? `the file is nested deeper than ${MAX_DEPTH} levels` : undefined;
}

/** Separators stand between values. Indicators begin something other than a plain word. */
const SEPARATOR = 1;
const INDICATOR = 2;
const KINDS = new Uint8Array(128);
for (const char of ',:[{\n\r') KINDS[char.charCodeAt(0)] = SEPARATOR;
for (const char of '"\'&*!?|>%@`]}') KINDS[char.charCodeAt(0)] = INDICATOR;

/** Each separator or indicator is a part, or a mistake that the parser would report. */
function exceedsParts(text: string, max: number): boolean {
  const counts: [number, number, number] = [0, 0, 0];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 128) counts[KINDS[code] as 0 | 1 | 2]++;
  }
  return counts[SEPARATOR] > max || counts[INDICATOR] > max;
}

/** Computes an upper bound of the nesting from brackets and indentation alone. */
function exceedsDepth(text: string): boolean {
  let brackets = 0;
  const columns: number[] = [];
  for (const line of text.split(/\r\n|[\r\n]/)) {
    const starts = startsIn(line);
    if (starts.length > 0) {
      while (columns.length > 0 && (columns.at(-1) ?? 0) >= (starts[0] ?? 0)) columns.pop();
      columns.push(...starts);
    }
    if (columns.length > MAX_DEPTH) return true;
    for (const char of line) {
      if (char === '[' || char === '{') brackets++;
      else if (char === ']' || char === '}') brackets = Math.max(0, brackets - 1);
      if (columns.length + brackets > MAX_DEPTH) return true;
    }
  }
  return false;
}

/** The columns of the indicators that a line begins with, and of what follows them. No more than would be too deep. */
function startsIn(line: string): number[] {
  const starts: number[] = [];
  for (let i = 0; i < line.length && starts.length <= MAX_DEPTH; i++) {
    const char = line.charAt(i);
    if (isBlank(char)) continue;
    starts.push(i);
    const isIndicator = char === '-' || char === '?' || char === ':';
    if (!isIndicator || !isBlank(line.charAt(i + 1))) break;
  }
  return starts;
}

function isBlank(char: string): boolean {
  return char === ' ' || char === '\t' || char === '';
}
