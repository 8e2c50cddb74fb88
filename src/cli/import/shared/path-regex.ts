/**
 * Makes paths of a policy file out of simple regular expressions for paths: literal text, choices, whole segments of any
 * text, and any rest. The expression is read, never run.
 */
import { ANY_PATH, literalPath, segmentText, valid } from './paths.ts';

/** More policies in place of one would be hard to read. */
const MAX_PATHS = 32;
const MAX_LENGTH = 500;

type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'segment' }
  | { readonly kind: 'rest' }
  | { readonly kind: 'choice'; readonly texts: readonly string[] }
  | { readonly kind: 'optional-slash' };

/** What stands for one or more characters of one segment, and nothing else. */
const SEGMENT =
  /^(?:\[\^\/?\]\+|\[\^\/\][+]|\\[dw]\+|\\d\{\d+(?:,\d*)?\}|\[(?:[\w-]|\\[dw.-])+\](?:\+|\{[1-9]\d*(?:,\d*)?\})|\.\+(?=\/))/;
/** A group around one of these, which may have a name. */
const GROUP = /^\((?:\?:|\?P?<\w+>)?(\[\^\/\]\+|\\[dw]\+|\[(?:[\w-]|\\[dw.-])+\]\+|\.\*|\.\+)\)/;
const CHOICE = /^\((?:\?:)?([\w.~\\/-]+(?:\|[\w.~\\/-]*)+)\)(\??)/;
const REST = /^(?:\.\*|\.\+)(?=\$?$)/;

/**
 * The paths that the expression matches, as templates. Undefined if a policy file cannot name them. Without `$` at its
 * end, an expression matches every path that begins with what it says.
 */
export function templatesOf(expression: string): string[] | undefined {
  if (expression.length > MAX_LENGTH) return undefined;
  const anchored = expression.startsWith('^') ? expression.slice(1) : undefined;
  if (anchored === undefined) return undefined;
  const ends = anchored.endsWith('$') && !anchored.endsWith('\\$');
  const parts = partsOf(ends ? anchored.slice(0, -1) : anchored);
  if (parts === undefined) return undefined;
  const written = spelled(parts);
  if (written === undefined) return undefined;
  const templates = written.map((path) => templateOf(path, ends));
  return templates.every((each) => each !== undefined)
    ? [...new Set(templates as string[])]
    : undefined;
}

function partsOf(expression: string): Part[] | undefined {
  const parts: Part[] = [];
  let rest = expression;
  while (rest !== '') {
    const read = nextPart(rest);
    if (read === undefined) return undefined;
    parts.push(read.part);
    rest = rest.slice(read.length);
  }
  return parts;
}

function nextPart(rest: string): { part: Part; length: number } | undefined {
  const tail = /^(?:\/|\(\/\))\?$/.exec(rest) ?? /^\(\/\|\$\)(?:\(\.\*\))?$/.exec(rest);
  if (tail !== null) {
    const part: Part = rest.includes('.*') ? { kind: 'rest' } : { kind: 'optional-slash' };
    return { part, length: rest.length };
  }
  const any = REST.exec(rest);
  if (any !== null) return { part: { kind: 'rest' }, length: any[0].length };
  const group = GROUP.exec(rest);
  if (group !== null) {
    const isRest = group[1]?.startsWith('.') === true;
    if (isRest && group[0].length < rest.length) return undefined;
    return { part: { kind: isRest ? 'rest' : 'segment' }, length: group[0].length };
  }
  const choice = CHOICE.exec(rest);
  if (choice !== null) {
    const texts = (choice[1] ?? '').split('|').map(unescaped);
    if (texts.some((text) => text === undefined)) return undefined;
    const all = choice[2] === '?' ? [...texts, ''] : texts;
    return { part: { kind: 'choice', texts: all as string[] }, length: choice[0].length };
  }
  const segment = SEGMENT.exec(rest);
  if (segment !== null) return { part: { kind: 'segment' }, length: segment[0].length };
  const literal = /^(?:[\w/~!&',;=@%: -]|\\[^\w\s])+?(?![*+?{])/.exec(rest);
  if (literal === null) return undefined;
  const text = unescaped(literal[0]);
  return text === undefined
    ? undefined
    : { part: { kind: 'text', text }, length: literal[0].length };
}

/** Undefined for a dot or an escape with another meaning. */
function unescaped(text: string): string | undefined {
  if (/(?<!\\)\.|\\[\w]/.test(text.replaceAll('\\\\', ''))) return undefined;
  return text.replaceAll(/\\(.)/g, '$1');
}

/** Stands for a whole segment in a spelled path; no path has it. */
const ANY_SEGMENT = '\x01';
const ANY_REST = '\x02';
const MARKS = [ANY_SEGMENT, ANY_REST];

function spelled(parts: readonly Part[]): string[] | undefined {
  let paths = [''];
  for (const part of parts) {
    const texts = textsOf(part);
    paths = paths.flatMap((path) => texts.map((text) => path + text));
    if (paths.length > MAX_PATHS) return undefined;
  }
  return paths;
}

function textsOf(part: Part): readonly string[] {
  switch (part.kind) {
    case 'text':
      return [part.text];
    case 'segment':
      return [ANY_SEGMENT];
    case 'rest':
      return [ANY_REST];
    case 'optional-slash':
      return [''];
    case 'choice':
      return part.texts;
  }
}

/** A parameter and a rest must be whole segments. */
function templateOf(path: string, ends: boolean): string | undefined {
  if (!path.startsWith('/') && path !== ANY_REST) return undefined;
  const isOpen = path.endsWith(ANY_REST) || !ends;
  const known = path.endsWith(ANY_REST) ? path.slice(0, -1) : path;
  const segments = known.split('/').slice(1);
  const last = segments.at(-1) ?? '';
  // `/api` without an end matches `/apis` too. As with locations, `/api` and what is below it is meant.
  const named = last === '' ? segments.slice(0, -1) : segments;
  const written: string[] = [];
  for (const [i, segment] of named.entries()) {
    if (segment === ANY_SEGMENT) written.push(`:p${i + 1}`);
    else if (segment === '' || MARKS.some((mark) => segment.includes(mark))) return undefined;
    else written.push(segmentText(segment));
  }
  if (written.length === 0) return isOpen ? ANY_PATH : literalPath('/');
  return valid(`/${written.join('/')}${isOpen ? '/*' : ''}`);
}
