import { createContext, Script } from 'node:vm';

/** The texts of groups by number and name, without groups that have matched nothing. */
export type Groups = Readonly<Record<string, string>>;

const MAX_EXPRESSION_LENGTH = 1_000;
const MAX_PATH_LENGTH = 200;
const MAX_PLAIN_LENGTH = 100;
/** It is long, because a busy machine may stop a usual expression for a second. */
const TIMEOUT_MS = 2_000;
const MOST_TIMEOUTS = 10;
const MOST_KNOWN = 100_000;

/** JavaScript refuses these forms, or reads them in another way. */
const OTHER_FORM = /\\[^dDwWsSbBnrt\W]|\\$|\[\^?\]|\[[:.=]|\(\?[a-z^-]+[:)]/;

/** A foreign expression may need years for a path, and Node can stop it only in a separate context. */
const context = createContext({ expression: '', flags: '', path: '' });
const script = new Script('new RegExp(expression, flags).exec(path)');
const known = new Map<string, Groups | null | undefined>();
const endless = new Set<string>();

/** Returns undefined if the expression is of another kind or needs too long, and may match. */
export function matchesExpression(
  expression: string,
  path: string,
  ignoresCase = false,
): boolean | undefined {
  const groups = matchExpression(expression, path, ignoresCase);
  return groups === undefined ? undefined : groups !== null;
}

/** Returns null without a match, and undefined as above. */
export function matchExpression(
  expression: string,
  path: string,
  ignoresCase = false,
): Groups | null | undefined {
  if (expression.length > MAX_EXPRESSION_LENGTH || path.length > MAX_PATH_LENGTH) return undefined;
  const flags = ignoresCase || expression.startsWith('(?i)') ? 'i' : '';
  const key = JSON.stringify([expression, flags, path]);
  if (known.has(key)) return known.get(key);
  const groups = run(expression.replace(/^\(\?i\)/, '').replaceAll('(?P<', '(?<'), flags, path);
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(key, groups);
  return groups;
}

function run(expression: string, flags: string, path: string): Groups | null | undefined {
  if (OTHER_FORM.test(expression) || endless.has(expression) || endless.size >= MOST_TIMEOUTS)
    return undefined;
  try {
    Object.assign(context, { expression, flags, path });
    const options = endsSoon(expression, path) ? {} : { timeout: TIMEOUT_MS };
    const match = script.runInContext(context, options) as RegExpExecArray | null;
    if (match === null) return null;
    const groups = [...match.entries(), ...Object.entries(match.groups ?? {})];
    return Object.fromEntries(groups.filter(([, text]) => text !== undefined));
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')
      endless.add(expression);
    return undefined;
  }
}

/** Expressions with few repetitions, none of them of a group, need no clock, which would cost a thread for each path. */
function endsSoon(expression: string, path: string): boolean {
  const count = (sign: RegExp) => expression.split(sign).length - 1;
  const [repetitions, options, groups] = [/[*+{]/, /(?<!\()\?/, /\(/].map(count);
  const isPlain = !/\)[*+{]/.test(expression) && path.length <= MAX_PLAIN_LENGTH;
  return isPlain && (repetitions ?? 0) <= 4 && (options ?? 0) <= 4 && (groups ?? 0) <= 6;
}
