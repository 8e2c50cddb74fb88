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
