/** What makes a parsed YAML document unusable as configuration. */
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

export interface YamlMistake {
  /** Characters before its place. */
  readonly offset: number;
  readonly message: string;
}

/** The parser looks up each alias from the start of the file. */
const MAX_ALIASES = 100;
/** More would take long to place, and nobody corrects more at a time. */
const MAX_MISTAKES = 100;

/** What messages say about a kind of file. */
export interface YamlFileKind {
  /** `a policy file` */
  readonly name: string;
  /** What the shortest file has. */
  readonly needed: string;
}

/** `text` is the text of the document. */
export function mistakesOf(document: Document, text: string, kind: YamlFileKind): YamlMistake[] {
  const mistakes = [
    ...mistakesOfParser(document, kind),
    ...versionMistakes(text),
    ...mistakesOfNodes(document),
  ];
  if (mistakes.length === 0 && document.contents === null) {
    const message = `the file is empty, it needs at least ${kind.needed}`;
    return [{ offset: 0, message }];
  }
  return mistakes;
}

/** Replacements for messages that only programmers understand. */
const PLAINER: Readonly<Record<string, string>> = {
  TAG_RESOLVE_FAILED: 'a tag is not known here, remove it',
};

/** Includes warnings: an unknown tag or directive changes what the author thinks the file says. */
function mistakesOfParser({ errors, warnings }: Document, kind: YamlFileKind): YamlMistake[] {
  const plainer: typeof PLAINER = {
    ...PLAINER,
    MULTIPLE_DOCS: `a second document begins here, ${kind.name} has only one`,
  };
  return [...errors, ...warnings].slice(0, MAX_MISTAKES).map(({ code, pos, message }) => ({
    offset: pos[0],
    message: plainer[code] ?? plain(message),
  }));
}

const INDENTED =
  'this line is indented differently: keys of one map, and entries of one list, begin in the same column';

/** Leaves out what the message quotes from the file: it may be a secret in the wrong place. */
function plain(message: string): string {
  const text = message.replace(/: ".*"$/s, '');
  if (/^All (mapping|collection|sequence) items must start/.test(text)) return INDENTED;
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}

function versionMistakes(text: string): YamlMistake[] {
  const directive = /^%YAML[ \t].*$/m.exec(text);
  if (directive === null || /^%YAML[ \t]+1\.2\s*$/.test(directive[0])) return [];
  const message = `"${directive[0].trim()}" changes the meaning of values, remove the line: the file is YAML 1.2`;
  return [{ offset: directive.index, message }];
}

/** Reports aliases without an anchor, and keys of maps that cannot be used. */
function mistakesOfNodes(document: Document): YamlMistake[] {
  const mistakes: YamlMistake[] = [];
  const anchors = new Set<string>();
  let aliases = 0;
  visit(document, (_, node) => {
    if (mistakes.length >= MAX_MISTAKES) return visit.BREAK;
    if (isAlias(node)) {
      const offset = node.range?.[0] ?? 0;
      if (++aliases > MAX_ALIASES) {
        const message = `the file has more than ${MAX_ALIASES} aliases, write their values out`;
        mistakes.push({ offset, message });
        return visit.BREAK;
      }
      if (anchors.has(node.source)) return undefined;
      const message = `there is no anchor "&${node.source}" before this alias`;
      mistakes.push({ offset, message });
      return undefined;
    }
    if ((isScalar(node) || isCollection(node)) && node.anchor !== undefined) {
      anchors.add(node.anchor);
    }
    if (isMap(node)) mistakes.push(...mistakesOfKeys(node).slice(0, MAX_MISTAKES));
    return undefined;
  });
  return mistakes.slice(0, MAX_MISTAKES);
}

/** Reports repeated keys, and `__proto__`, which every object has. */
function mistakesOfKeys({ items }: YAMLMap): YamlMistake[] {
  const known = new Set<string>();
  return items.flatMap(({ key }) => {
    const name = String(key);
    const offset = isNode(key) ? (key.range?.[0] ?? 0) : 0;
    if (name === '__proto__') {
      return [{ offset, message: '"__proto__" is not a valid key, remove it' }];
    }
    if (known.has(name)) return [{ offset, message: 'this key is repeated, keep one of them' }];
    known.add(name);
    return [];
  });
}
