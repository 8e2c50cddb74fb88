import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  visit,
  type YAMLMap,
} from 'yaml';
import {
  MAX_MISTAKES,
  mistakesOfParser,
  type YamlFileKind,
  type YamlMistake,
} from './parser-mistakes.ts';

/** How texts are parsed for `mistakesOf`. The parser would compare each key with all others; `mistakesOf` needs one pass. */
export const PARSE_OPTIONS = {
  version: '1.2',
  strict: true,
  uniqueKeys: false,
  logLevel: 'error',
  prettyErrors: false,
} as const;

/** The parser looks up each alias from the start of the file. */
const MAX_ALIASES = 100;

export function mistakesOf(document: Document, text: string, kind: YamlFileKind): YamlMistake[] {
  const mistakes = [
    ...mistakesOfParser(document, text, kind),
    ...versionMistakes(text),
    ...mistakesOfNodes(document, kind),
  ];
  if (mistakes.length === 0 && document.contents === null) {
    const message = `the file is empty, it needs at least ${kind.needed}`;
    return [{ offset: 0, message }];
  }
  return mistakes;
}

function versionMistakes(text: string): YamlMistake[] {
  const directive = /^%YAML[ \t].*$/m.exec(text);
  if (directive === null || /^%YAML[ \t]+1\.2\s*$/.test(directive[0])) return [];
  const message = `"${directive[0].trim()}" changes the meaning of values, remove the line: the file is YAML 1.2`;
  return [{ offset: directive.index, message }];
}

function mistakesOfNodes(document: Document, { isLenient = false }: YamlFileKind): YamlMistake[] {
  const mistakes: YamlMistake[] = [];
  const anchors = new Set<string>();
  let aliases = 0;
  visit(document, (_, node) => {
    if (mistakes.length >= MAX_MISTAKES) return visit.BREAK;
    if (isAlias(node)) {
      const offset = node.range?.[0] ?? 0;
      if (++aliases > MAX_ALIASES && !isLenient) {
        const message = `the file has more than ${MAX_ALIASES} aliases, write their values out`;
        mistakes.push({ offset, message });
        return visit.BREAK;
      }
      if (anchors.has(node.source)) return undefined;
      const message = /^[\w-]+$/.test(node.source)
        ? `there is no anchor "&${node.source}" before this alias`
        : 'a value that begins with "*" must be in quotes';
      mistakes.push({ offset, message });
      return undefined;
    }
    if ((isScalar(node) || isCollection(node)) && node.anchor !== undefined) {
      anchors.add(node.anchor);
    }
    if (isMap(node)) mistakes.push(...mistakesOfKeys(node, isLenient).slice(0, MAX_MISTAKES));
    return undefined;
  });
  return mistakes.slice(0, MAX_MISTAKES);
}

/** Reports repeated keys, and `__proto__`, which every object has. */
function mistakesOfKeys({ items }: YAMLMap, mayRepeat: boolean): YamlMistake[] {
  const known = new Set<string>();
  return items.flatMap(({ key }) => {
    const name = String(key);
    const offset = isNode(key) ? (key.range?.[0] ?? 0) : 0;
    if (name === '__proto__') {
      return [{ offset, message: '"__proto__" is not a valid key, remove it' }];
    }
    if (known.has(name) && !mayRepeat)
      return [{ offset, message: 'this key is repeated, keep one of them' }];
    known.add(name);
    return [];
  });
}

export interface YamlBounds {
  readonly maxBytes: number;
  /** Approximate number of values, keys and lines: each takes memory and time. */
  readonly maxParts: number;
}

const MAX_DEPTH = 64;

/** The parser recurses and has no bounds, so this is checked before it runs. */
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
