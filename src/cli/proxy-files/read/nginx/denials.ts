/** Finds what keeps the answers of headgate, or the site's own 401 and 403, from the client. */

import type { Diagnostic } from '../../../../gateway/config/diagnostic.ts';
import { type Directive, directiveText } from '../../nginx-syntax/directive.ts';
import { found } from '../catalog.ts';
import {
  inherited,
  innerLevels,
  isChecked,
  isForHeadgate,
  type Level,
  levelsIn,
  nearest,
  onlyLeadsOn,
  PASS,
} from './levels.ts';
import { locationFor } from './locations.ts';
import { serversThatAsk } from './sites.ts';

/** `levels`: those of the site. */
export function nginxDenials(levels: readonly Level[]): Diagnostic[] {
  return levels.filter(isChecked).flatMap((level) => {
    const taken = takenStatuses(level);
    if (taken.length > 0) return taken;
    return takesUnauthorized(level) ? replacedRefusals(level) : lostPages(level);
  });
}

/** `401 403` of `error_page 401 403 =404 /page`. */
export function statusesOf({ args }: Directive): readonly string[] {
  return args.slice(0, -1).filter((each) => /^\d+$/.test(each));
}

/** NGINX uses the first line for a status. */
function takenStatuses({ at }: Level): Diagnostic[] {
  const lines = at.block.filter(({ name }) => name === 'error_page');
  const places = new Map<string, string[]>();
  for (const status of ['401', '403']) {
    const [first, ...others] = lines.filter((line) => statusesOf(line).includes(status));
    if (first === undefined || leadsToHeadgate(first) || !others.some(leadsToHeadgate)) continue;
    places.set(first.where, [...(places.get(first.where) ?? []), status]);
  }
  return lines.flatMap(({ args, where }) => {
    const statuses = places.get(where);
    if (statuses === undefined) return [];
    const problem = `error_page ${statuses.join(' ')} stands above that of headgate, so denied clients get ${args.at(-1)}`;
    return [found('denial-becomes-page', where, problem)];
  });
}

/** `@headgate_reply`, or a variable that names it. */
function leadsToHeadgate({ args }: Directive): boolean {
  return /^[@$]headgate_/.test(args.at(-1) ?? '');
}

/** Whether the part is of headgate 0.2, which took every 401 for its own. */
function takesUnauthorized({ at, around }: Level): boolean {
  return nearest('error_page', [at, ...around]).some(
    (line) => leadsToHeadgate(line) && statusesOf(line).includes('401'),
  );
}

function replacedRefusals(level: Level): Diagnostic[] {
  const { at } = level;
  const causes = [...ownRefusals(level), ...interceptions(level)];
  if (!INNER.has(at.name) || causes.length === 0) return [];
  const problem = `the part turns the site's own 401 into a 503, and empties its 403: ${listOf(causes)}`;
  return [found('own-refusal-replaced', at.where, problem)];
}

/** Blocks in which requests end. */
const INNER: ReadonlySet<string> = new Set(['location', 'if', 'limit_except']);

/** Lines by which NGINX itself answers 401 or 403. */
function ownRefusals({ at, around }: Level): readonly Directive[] {
  const levels = [at, ...around];
  const asking = ['auth_basic', 'auth_jwt'].filter(
    (name) => (inherited(name, levels) ?? 'off') !== 'off',
  );
  const returned = at.block.filter(
    ({ name, args }) => name === 'return' && /^40[13]$/.test(args[0] ?? ''),
  );
  return [...[...asking, 'deny'].flatMap((name) => nearest(name, levels).slice(0, 1)), ...returned];
}

/** Lines by which the answers of the application take part in `error_page`. */
function interceptions({ at, around }: Level): readonly Directive[] {
  return at.block.flatMap(({ name }) => {
    const kind = PASS.exec(name)?.[1];
    const [line] = nearest(`${kind}_intercept_errors`, [at, ...around]);
    return kind !== undefined && line?.args[0] === 'on' ? [line] : [];
  });
}

/** The part hands a 403 of the site on to the blocks around the location, if error pages are recursive. */
function lostPages(level: Level): Diagnostic[] {
  const { at, around } = level;
  const isFor403 = (line: Directive) => !leadsToHeadgate(line) && statusesOf(line).includes('403');
  const own = at.block.filter((each) => each.name === 'error_page');
  if (!INNER.has(at.name) || !own.some(leadsToHeadgate) || onlyLeadsOn(level)) return [];
  const outer = nearest('error_page', around).filter(isFor403);
  const isRecursive = inherited('recursive_error_pages', [at, ...around]) === 'on';
  const unused = [...own.filter(isFor403), ...(isRecursive ? [] : outer)];
  if (unused.length > 0)
    return [
      found(
        'own-403-page-unused',
        at.where,
        `a 403 of the site has no page here: ${listOf(unused)}`,
      ),
    ];
  const causes = outer.length > 0 ? [] : interceptions(level);
  if (causes.length === 0) return [];
  const problem = `a 403 of the application loses its body and its cookies: ${listOf(causes)}`;
  return [found('own-403-body-lost', at.where, problem)];
}

function listOf(lines: readonly Directive[]): string {
  return lines.map((line) => `${directiveText(line)} (${line.where})`).join(', ');
}

/** NGINX uses error pages once for a request, unless they are recursive. */
export function nginxErrorPages(tree: readonly Directive[]): Diagnostic[] {
  const places = new Map<string, Diagnostic>();
  for (const server of serversThatAsk(tree))
    for (const level of levelsIn(server.at, server.around).filter(isPassedBy))
      for (const finding of pagesOf(level, server)) places.set(finding.file, finding);
  return [...places.values()];
}

/** Whether requests end in the location, without a check. */
function isPassedBy({ at, around }: Level): boolean {
  const isHere = at.name === 'location' && !isForHeadgate(at) && !isChecked({ at, around });
  return isHere && inherited('recursive_error_pages', [at, ...around]) !== 'on';
}

function pagesOf({ at, around }: Level, server: Level): Diagnostic[] {
  return nearest('error_page', [at, ...around]).flatMap((line) => {
    const target = line.args.at(-1) ?? '';
    const isForClients = statusesOf(line).some((status) => status.startsWith('4'));
    const location = target.startsWith('@')
      ? innerLevels(server).find((each) => each.at.args[0] === target)
      : target.startsWith('/') && locationFor(target.replace(/\?.*$/, ''), innerLevels(server));
    if (!isForClients || !location || !isChecked(location)) return [];
    if (!location.at.block.some(({ name }) => PASS.test(name))) return [];
    const problem = `error_page ${line.args.join(' ')} leads from location ${at.args.join(' ')} to ${location.at.args.join(' ')}, where a denied client gets the 403 of NGINX`;
    return [found('denial-on-error-page', line.where, problem)];
  });
}
