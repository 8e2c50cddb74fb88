/** Middlewares that limit requests and are not carried over, such as plugins. */
import { type Finding, leftOut } from '../shared/finding.ts';
import { isLimit, isLimitName } from '../shared/limit-words.ts';
import type { Middleware } from './parts.ts';

const KNOWN = ['ratelimit', 'inflightreq', 'chain'];
const UNKNOWN =
  'headgate does not know this middleware, which looks like a limit. Keep it, or write a policy with its limits.';

export function isOtherLimit(middleware: Middleware): boolean {
  const { kind, options } = middleware;
  if (KNOWN.includes(kind)) return false;
  const byParent = Map.groupBy(options, ([path]) => path.slice(0, path.lastIndexOf('.') + 1));
  const levels = [...byParent].map(([parent, all]) =>
    all.map(([path, { text }]) => [path.slice(parent.length), text.split(',')] as const),
  );
  return isLimitName(titleOf(middleware)) || levels.some(isLimit);
}

/** `plugin` is a kind whose options have the name of the plugin. */
function titleOf({ kind, options }: Middleware): string {
  const [option = ''] = options.keys();
  return kind === 'plugin' ? (option.split('.')[0] ?? '') : kind;
}

export function otherMiddleware(middleware: Middleware): Finding {
  const { name, place } = middleware;
  return leftOut(place, `${titleOf(middleware)} ${name}`, UNKNOWN);
}
