/** Whether a regular expression of a proxy's file matches a path. */

export interface Subject {
  readonly path: string;
  readonly ignoresCase: boolean;
}

/** Longer paths and more repetitions could take seconds, because expressions come from files. */
const MAX_PATH_LENGTH = 200;
const MAX_REPETITIONS = 4;
/** PCRE and RE2 read these in another way than JavaScript, or JavaScript does not know them. */
const FOREIGN = /\\[AaCEGHhKLlNPpQRUuVXZz]|\[\[:|\(\?(?![:=!<])|\(\*/;
const ESCAPE = /\\[\s\S]/g;
const CLASS = /\[\^?\]?[^\]]*\]/g;
const INNERMOST_GROUP = /\((?:\?(?:[:=!]|<[=!]|<\w+>))?([^()]*)\)([*+?]|\{\d)?/;
const REPETITION = /[*+]|\{\d/g;

/** Undefined if the expression is of another kind, and may match. */
export function matchesExpression(
  expression: string,
  { path, ignoresCase }: Subject,
): boolean | undefined {
  if (path.length > MAX_PATH_LENGTH) return undefined;
  return compileExpression(expression, ignoresCase)?.test(path);
}

/** Undefined if it cannot be read, or if a match could take long. */
export function compileExpression(expression: string, ignoresCase: boolean): RegExp | undefined {
  const ignored = expression.startsWith('(?i)');
  const written = (ignored ? expression.slice(4) : expression).replaceAll('(?P<', '(?<');
  if (FOREIGN.test(written) || !isQuick(written)) return undefined;
  try {
    return new RegExp(written, ignoresCase || ignored ? 'i' : '');
  } catch {
    return undefined;
  }
}

/** Nothing is repeated that has repetitions or alternatives in it, and few things are repeated. */
function isQuick(expression: string): boolean {
  let rest = expression.replaceAll(ESCAPE, 'x').replaceAll(CLASS, 'x');
  if ((rest.match(REPETITION) ?? []).length > MAX_REPETITIONS) return false;
  for (let group = INNERMOST_GROUP.exec(rest); group !== null; group = INNERMOST_GROUP.exec(rest)) {
    const [whole, inside = '', repeated = ''] = group;
    const isSimple = !/[*+?{|]/.test(inside);
    if (!isSimple && repeated !== '' && repeated !== '?') return false;
    const left = isSimple ? 'x' : 'x?';
    rest = rest.slice(0, group.index) + left + rest.slice(group.index + whole.length);
  }
  return true;
}
