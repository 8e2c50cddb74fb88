/** Finds what keeps the answers of headgate, or the site's own 401 and 403, from the client. */
import type { Diagnostic } from '../../../../gateway/config/diagnostic.ts';
import { type Directive, directiveText, named } from '../../nginx-syntax/directive.ts';
import { found } from '../catalog.ts';
import {
  inherited,
  innerLevels,
  isChecked,
  isForHeadgate,
  isOn,
  type Level,
  levelsIn,
  nearest,
  onlyLeadsOn,
  PASS,
  passesOf,
} from './levels.ts';
import { locationFor } from './locations.ts';
import { checkingServers } from './sites.ts';

export function denialFindings(levelsOfSite: readonly Level[]): Diagnostic[] {
  return levelsOfSite.filter(isChecked).flatMap((level) => {
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
function takenStatuses([at]: Level): Diagnostic[] {
  const lines = named(at.block, 'error_page');
  const isTaken = (status: string, by: Directive) => {
    const [first, ...others] = lines.filter((line) => statusesOf(line).includes(status));
    return first === by && !leadsToHeadgate(first) && others.some(leadsToHeadgate);
  };
  return lines.flatMap((line) => {
    const statuses = ['401', '403'].filter((status) => isTaken(status, line));
    if (statuses.length === 0) return [];
    const problem = `error_page ${statuses.join(' ')} stands above that of headgate, so denied clients get ${line.args.at(-1)}`;
    return [found('denial-becomes-page', line.where, problem)];
  });
}

/** `@headgate_reply`, or a variable that names it. */
function leadsToHeadgate({ args }: Directive): boolean {
  return /^[@$]headgate_/.test(args.at(-1) ?? '');
}

/** The part of headgate 0.2 took every 401 for its own. */
function takesUnauthorized(level: Level): boolean {
  return nearest('error_page', level).some(
    (line) => leadsToHeadgate(line) && statusesOf(line).includes('401'),
  );
}

function replacedRefusals(level: Level): Diagnostic[] {
  const [at] = level;
  const causes = [...ownRefusals(level), ...interceptions(level)];
  if (!INNER.has(at.name) || causes.length === 0) return [];
  const problem = `the part turns the site's own 401 into a 503, and empties its 403: ${listOf(causes)}`;
  return [found('own-refusal-replaced', at.where, problem)];
}

const INNER: ReadonlySet<string> = new Set(['location', 'if', 'limit_except']);

function ownRefusals(level: Level): readonly Directive[] {
  const names = ['auth_basic', 'auth_jwt'].filter((name) => isOn(name, level));
  const returned = named(level[0].block, 'return').filter(({ args: [status = ''] }) =>
    /^40[13]$/.test(status),
  );
  return [...[...names, 'deny'].flatMap((name) => nearest(name, level).slice(0, 1)), ...returned];
}

/** Lines by which `error_page` also replaces answers of the application. */
function interceptions(level: Level): readonly Directive[] {
  return level[0].block.flatMap(({ name }) => {
    const kind = PASS.exec(name)?.[1];
    const [line] = nearest(`${kind}_intercept_errors`, level);
    return kind !== undefined && line?.args[0] === 'on' ? [line] : [];
  });
}

/** The part hands a 403 of the site on to the blocks around the location, if error pages are recursive. */
function lostPages(level: Level): Diagnostic[] {
  const [at, ...around] = level;
  const isFor403 = (line: Directive) => !leadsToHeadgate(line) && statusesOf(line).includes('403');
  const own = named(at.block, 'error_page');
  if (!INNER.has(at.name) || !own.some(leadsToHeadgate) || onlyLeadsOn(level)) return [];
  const outer = nearest('error_page', around).filter(isFor403);
  const isRecursive = inherited('recursive_error_pages', level) === 'on';
  const unused = [...own.filter(isFor403), ...(isRecursive ? [] : outer)];
  if (unused.length > 0) {
    const problem = `a 403 of the site has no page here: ${listOf(unused)}`;
    return [found('own-403-page-unused', at.where, problem)];
  }
  const causes = outer.length > 0 ? [] : interceptions(level);
  if (causes.length === 0) return [];
  const problem = `a 403 of the application loses its body and its cookies: ${listOf(causes)}`;
  return [found('own-403-body-lost', at.where, problem)];
}

function listOf(lines: readonly Directive[]): string {
  return lines.map((line) => `${directiveText(line)} (${line.where})`).join(', ');
}

/** NGINX uses error pages once for a request, unless they are recursive. */
export function errorPageFindings(tree: readonly Directive[]): Diagnostic[] {
  const places = new Map<string, Diagnostic>();
  for (const server of checkingServers(tree))
    for (const level of levelsIn(server).filter(passesUnchecked))
      for (const finding of pagesOf(level, server)) places.set(finding.file, finding);
  return [...places.values()];
}

function passesUnchecked(level: Level): boolean {
  const [at] = level;
  const isHere = at.name === 'location' && !isForHeadgate(at) && !isChecked(level);
  return isHere && inherited('recursive_error_pages', level) !== 'on';
}

function pagesOf(level: Level, server: Level): Diagnostic[] {
  const locations = innerLevels(server);
  return nearest('error_page', level).flatMap((line) => {
    const target = line.args.at(-1) ?? '';
    const isForClients = statusesOf(line).some((status) => status.startsWith('4'));
    const location = target.startsWith('@')
      ? locations.find(([{ args }]) => args[0] === target)
      : target.startsWith('/') && locationFor(target.replace(/\?.*$/, ''), locations);
    if (!isForClients || !location || !isChecked(location)) return [];
    const [to] = location;
    if (passesOf(to).length === 0) return [];
    const problem = `${directiveText(line)} leads from ${directiveText(level[0])} to ${to.args.join(' ')}, where a denied client gets the 403 of NGINX`;
    return [found('denial-on-error-page', line.where, problem)];
  });
}
