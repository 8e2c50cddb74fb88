/** Finds what a `server` or `http` block does to the check itself, which NGINX treats as another request. */
import type { Diagnostic } from '../../../../gateway/config/diagnostic.ts';
import { type Directive, directiveText } from '../../nginx-syntax/directive.ts';
import { found } from '../catalog.ts';
import { matchesExpression } from '../expression.ts';
import { type Level, nearest, passesToHeadgate } from './levels.ts';

const INHERITED: readonly (readonly [name: string, harmless: string, effect: string])[] = [
  ['proxy_cache', 'off', 'so one verdict is used for other requests'],
  ['proxy_store', 'off', 'so verdicts are written to files'],
  ['proxy_bind', 'off', 'so headgate is asked from another address'],
  ['proxy_set_body', '', 'so headgate refuses the check'],
  ['recursive_error_pages', 'off', 'so a denial may become a 500'],
];

export function checkFindings(levels: readonly Level[]): Diagnostic[] {
  return levels
    .filter(([{ name, block }]) => name === 'location' && block.some(passesToHeadgate))
    .flatMap((check) => [...inheritedLines(check), ...caughtBy(check)]);
}

function inheritedLines(level: Level): Diagnostic[] {
  const [, ...around] = level;
  return INHERITED.flatMap(([name, harmless, effect]) => {
    const [line] = nearest(name, level);
    if (line === undefined || line.args[0] === harmless) return [];
    // Only pages for the statuses of a verdict are in the way.
    const pages = nearest('error_page', around).flatMap(({ args }) => args);
    if (name === 'recursive_error_pages' && !pages.includes('403')) return [];
    const problem = `${name} ${line.args.join(' ')} applies to the check, too, ${effect}`;
    return [found('check-inherits', line.where, problem)];
  });
}

/** NGINX runs these lines of the server in their order, for the check as well. */
function caughtBy([at, server]: Level): Diagnostic[] {
  const path = at.args.at(-1) ?? '';
  if (server === undefined || !path.startsWith('/')) return [];
  const end = endOf(server.block, path, true);
  if (end === undefined || end.name === 'break') return [];
  const problem = `${directiveText(end)} also applies to ${path}, so headgate is not asked`;
  return [found('check-rewritten', end.where, problem)];
}

/** Finds the line that ends the rewriting of the check or changes its path. It is certain outside of conditions. */
function endOf(
  block: readonly Directive[],
  path: string,
  isCertain: boolean,
): Directive | undefined {
  for (const line of block) {
    const { name, args } = line;
    if (name === 'break' && isCertain) return line;
    // A client gets such an answer itself, before the check.
    if (name === 'return') return isCertain ? line : undefined;
    if (name === 'rewrite' && takes(args, path, isCertain)) {
      const isSame = args[1] === path || args[1] === '$uri';
      return isSame ? { ...line, name: 'break' } : line;
    }
    if (name !== 'if') continue;
    const holds = conditionHolds(args, path);
    if (holds === false) continue;
    const end = endOf(line.block, path, isCertain && holds === true);
    if (end !== undefined) return end;
  }
  return undefined;
}

function takes(
  [expression = '', target = '', flag = '']: readonly string[],
  path: string,
  isCertain: boolean,
): boolean {
  const matches = (each: string) => matchesExpression(expression, each) === true;
  const isRedirect = /^(redirect|permanent)$/.test(flag) || /^(https?:|\$scheme)/.test(target);
  // A client is redirected itself, before the check.
  if (isRedirect && (!isCertain || matches('/'))) return false;
  return matches(path);
}

/** Returns undefined if it depends on the request. */
function conditionHolds(args: readonly string[], path: string): boolean | undefined {
  const words = args
    .join(' ')
    .replace(/^\(\s*|\s*\)$/g, '')
    .split(/\s+/);
  const [first = '', second = '', ...rest] = words;
  if (/^!-[fde]$/.test(first) && /filename|document_root\$(document_)?uri/.test(second))
    return true;
  if (/^-[fdex]$/.test(first)) return false;
  if (!/^\$(document_)?uri$/.test(first)) return undefined;
  const value = rest.join(' ').replace(/^(["'])(.*)\1$/, '$2');
  if (second === '=') return value === path;
  if (second === '!=') return value !== path;
  const matches = matchesExpression(value, path, second.endsWith('*'));
  return matches === undefined || !second.startsWith('!') ? matches : !matches;
}
