import { type Document, isCollection, isScalar, visit, type YAMLError } from 'yaml';

export interface YamlMistake {
  /** Characters before its place. */
  readonly offset: number;
  readonly message: string;
}

/** More would take long to place, and nobody corrects more at a time. */
export const MAX_MISTAKES = 100;
const SECOND_DOCUMENT = 'MULTIPLE_DOCS';

export interface YamlFileKind {
  /** `a policy file` */
  readonly name: string;
  /** What the shortest file has. */
  readonly needed: string;
  /** Whether repeated keys, further documents and many aliases are no mistakes. */
  readonly isLenient?: boolean;
}

const PLAINER: Readonly<Record<string, string>> = {
  MULTILINE_IMPLICIT_KEY: 'write a key, a colon, a space and a value, as in "version: 1"',
  UNEXPECTED_TOKEN:
    'this does not belong to the value before it: remove it, or quote the value if it contains a bracket, a brace, a comma, a colon or "#"',
  BAD_SCALAR_START: 'a value that begins with this character must be in quotes',
  BAD_DQ_ESCAPE:
    'in double quotes, a backslash begins an escape: write two of them, or use single quotes',
  BLOCK_IN_FLOW: 'a list or map in brackets cannot go on like this: close the bracket before it',
  KEY_OVER_1024_CHARS: 'this key is too long',
  TAG_RESOLVE_FAILED: 'a tag is not known here, remove it',
  BLOCK_AS_IMPLICIT_KEY:
    'this value and the next line do not fit: indent the next line less, or quote a value that contains a colon',
};

const OUT_OF_PLACE = 'UNEXPECTED_TOKEN';

function isOnLine(text: string, first: YAMLError, other: YAMLError): boolean {
  return !text.slice(first.pos[0], other.pos[0]).includes('\n');
}

/** Follows from another mistake at the same place. */
const CONSEQUENCE = 'MULTILINE_IMPLICIT_KEY';
const GLUED_PAIR = /^["']?[\w-]+["']?:\S/;

function isOpenBracket({ message }: YAMLError): boolean {
  return /end with a ([\]}])/.test(message);
}

/** For what is opened and not closed. Its place is where it is opened; the parser finds the end of the file. */
function unclosed(error: YAMLError, document: Document): YamlMistake | undefined {
  const { code, pos } = error;
  const isFlow = isOpenBracket(error);
  // At the end of the file, the outermost one is open; those in it may be closed.
  const isAtEnd = isFlow && code === 'MISSING_CHAR';
  if (code !== 'MISSING_CHAR' && !isFlow) return undefined;
  let offset = -1;
  visit(document, (_, node) => {
    const isOpen = isScalar(node)
      ? /^QUOTE/.test(node.type ?? '')
      : isCollection(node) && node.flow;
    const start = isOpen ? (node as { range?: readonly number[] | null }).range?.[0] : undefined;
    const isWanted = isScalar(node) ? !isFlow : isFlow;
    if (!isWanted || start === undefined || start >= pos[0]) return;
    offset = isAtEnd && offset !== -1 ? Math.min(offset, start) : Math.max(offset, start);
  });
  if (offset === -1) return undefined;
  return {
    offset,
    message: isFlow
      ? 'this bracket is not closed: write the other one at the end of the list or map'
      : 'this quote is not closed: write the same quote at the end of the value',
  };
}

/** Includes warnings: an unknown tag or directive changes what the author thinks the file says. */
export function mistakesOfParser(
  document: Document,
  text: string,
  kind: YamlFileKind,
): YamlMistake[] {
  const { errors, warnings } = document;
  const plainer: typeof PLAINER = {
    ...PLAINER,
    [SECOND_DOCUMENT]: `a second document begins here, ${kind.name} has only one`,
  };
  const all = [...errors, ...warnings].slice(0, MAX_MISTAKES);
  return (
    all
      .filter(({ code, pos }) => {
        if (code === SECOND_DOCUMENT && kind.isLenient === true) return false;
        // Reported with the nodes.
        if (code === 'BAD_ALIAS') return false;
        const isAlone = all.filter((other) => other.pos[0] === pos[0]).length === 1;
        return code !== CONSEQUENCE || isAlone;
      })
      // After the first one, all of the line is out of place.
      .filter((each, _, kept) => {
        const first = kept.find(({ code }) => code === OUT_OF_PLACE);
        return first === undefined || each.pos[0] <= first.pos[0] || !isOnLine(text, first, each);
      })
      // The end of the file is missing brackets that a wrong one before it has left open.
      .filter((each, i, kept) => !isOpenBracket(each) || kept.findIndex(isOpenBracket) === i)
      // After one such line, the parser takes the right ones for wrong.
      .filter((each, i, kept) => !isIndented(each) || kept.findIndex(isIndented) === i)
      .map((error) => {
        const { code, pos, message } = error;
        const offset = pos[0];
        if (code === CONSEQUENCE && GLUED_PAIR.test(text.slice(offset))) {
          return { offset, message: 'write a space after the colon: version: 1' };
        }
        return unclosed(error, document) ?? { offset, message: plainer[code] ?? plain(message) };
      })
  );
}

const INDENTED =
  'this line is indented differently: keys of one map, and entries of one list, begin in the same column';

function isIndented({ message }: { readonly message: string }): boolean {
  return plain(message) === INDENTED;
}

/** Leaves out what the message quotes from the file: it may be a secret in the wrong place. */
function plain(message: string): string {
  const text = message.replace(/: ".*"$/s, '');
  if (/^(All (mapping|collection|sequence) items must start|Sequence item without -)/.test(text))
    return INDENTED;
  if (/^Missing , or : between flow/.test(text)) {
    return 'a comma is missing before this: write it, or quote the value if it contains a bracket or a brace';
  }
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}

export function secondDocument({ errors }: Document): number | undefined {
  return errors.find(({ code }) => code === SECOND_DOCUMENT)?.pos[0];
}

/** What else the text is; undefined if it may be YAML for headgate. `name`: what it should be, as in `a policy file`. */
export function otherText(text: string, name: string): YamlMistake | undefined {
  return notUtf8(text, name) ?? kubernetesObject(text, name) ?? unfinished(text);
}

export function isKubernetesObject(text: string): boolean {
  return kubernetesObject(text, '') !== undefined;
}

/** The decoder leaves U+FFFD in place of such bytes. */
function notUtf8(text: string, name: string): YamlMistake | undefined {
  const offset = text.search(/[\0\ufffd]/);
  if (offset === -1) return undefined;
  return { offset, message: `this is not UTF-8 text: save it as UTF-8, if it is ${name}` };
}

/** At the start of a line, or anywhere in JSON and in a flow map. */
const VERSION = { block: /^["']?apiVersion["']?[ \t]*:/m, flow: /["']?apiVersion["']?[ \t]*:/ };
const KIND = {
  block: /^["']?kind["']?[ \t]*:[ \t]*["']?(\w+)/m,
  flow: /["']?kind["']?[ \t]*:[ \t]*["']?(\w+)/,
};

function kubernetesObject(text: string, name: string): YamlMistake | undefined {
  const style = text.trimStart().startsWith('{') ? 'flow' : 'block';
  const version = VERSION[style].exec(text);
  const kind = KIND[style].exec(text)?.[1];
  if (version === null || kind === undefined) return undefined;
  // It may be in a list, or in a later document.
  const holder = /\bkind["']?[ \t]*:[ \t]*["']?(ConfigMap|Secret)\b/.exec(text)?.[1];
  const remedy =
    holder === undefined
      ? ''
      : ': the limits are the text below its "data", save that text as a file';
  const message = `this is a Kubernetes object (${holder ?? kind}), not ${name}${remedy}`;
  return { offset: version.index, message };
}

const UNFINISHED: readonly (readonly [RegExp, string])[] = [
  [/^(?:<{7}|>{7})(?= |$)/m, 'this line is from a merge conflict: resolve it'],
  [
    /^[^"'#\n]*?(\{\{)/m,
    'this is a template: give headgate the text that it makes, with the values in place of "{{...}}"',
  ],
  [
    /^[ \t]*[\u00a0\u2000-\u200b\u202f\u3000]/m,
    'this line is indented with other blanks: use spaces',
  ],
];

function unfinished(text: string): YamlMistake | undefined {
  for (const [sign, message] of UNFINISHED) {
    const found = sign.exec(text);
    if (found !== null) return { offset: found.index, message };
  }
  return undefined;
}
