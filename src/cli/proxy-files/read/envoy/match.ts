/** Which paths a route of Envoy takes. */
import { matchesExpression } from '../expression.ts';
import { at, isMap, textAt } from '../yaml-nodes.ts';

/** Conditions of a route on the path. With others, the route may not take a request. */
const PATH_KEYS = ['prefix', 'path', 'path_separated_prefix', 'safe_regex', 'case_sensitive'];

export function isCertain(match: unknown): boolean {
  return isMap(match) && Object.keys(match).every((key) => PATH_KEYS.includes(key));
}

/** The route takes one path. */
export function isExactPath(match: unknown): boolean {
  return textAt(match, 'path') !== undefined;
}

/** The route takes some paths only, and each request for them. */
export function isNarrow(match: unknown): boolean {
  return isCertain(match) && (isExactPath(match) || mayMatch(match, '/') === false);
}

/** `the route for /login` */
export function routeName(match: unknown): string {
  return `the route for ${pathOf(match) ?? 'this expression'}`;
}

/** The path that it takes, or the beginning of its paths. */
export function pathOf(match: unknown): string | undefined {
  return textAt(match, 'prefix') ?? textAt(match, 'path') ?? textAt(match, 'path_separated_prefix');
}

/** True also for other conditions. Undefined if the expression may match. */
export function mayMatch(match: unknown, path: string): boolean | undefined {
  const ignoresCase = at(match, 'case_sensitive') === false;
  const plain = (text: string | undefined) => (ignoresCase ? text?.toLowerCase() : text);
  const subject = plain(path) ?? '';
  const [prefix, exact] = [plain(textAt(match, 'prefix')), plain(textAt(match, 'path'))];
  if (prefix !== undefined) return subject.startsWith(prefix);
  if (exact !== undefined) return subject === exact;
  const folder = plain(textAt(match, 'path_separated_prefix'));
  if (folder !== undefined) return subject === folder || subject.startsWith(`${folder}/`);
  const expression = textAt(match, 'safe_regex', 'regex');
  if (expression === undefined) return true;
  return matchesExpression(`^${expression}$`, { path, ignoresCase });
}
