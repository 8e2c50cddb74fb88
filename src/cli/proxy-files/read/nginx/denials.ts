/** Finds what keeps the answers of headgate, or the site's own 401 and 403, from the client. */
import type { Diagnostic } from '../../../../gateway/config/diagnostic.ts';
import { found } from '../catalog.ts';
import { inherited, isChecked, type Level, nearest, onlyLeadsOn, PASS } from './levels.ts';
import type { Directive } from './tree.ts';

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
    places.set(first.place, [...(places.get(first.place) ?? []), status]);
  }
  return lines.flatMap(({ args, place }) => {
    const statuses = places.get(place);
    if (statuses === undefined) return [];
    const problem = `error_page ${statuses.join(' ')} stands above that of headgate, so denied clients get ${args.at(-1)}`;
    return [found('denial-becomes-page', place, problem)];
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
  return [found('own-refusal-replaced', at.place, problem)];
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
        at.place,
        `a 403 of the site has no page here: ${listOf(unused)}`,
      ),
    ];
  const causes = outer.length > 0 ? [] : interceptions(level);
  if (causes.length === 0) return [];
  const problem = `a 403 of the application loses its body and its cookies: ${listOf(causes)}`;
  return [found('own-403-body-lost', at.place, problem)];
}

function listOf(lines: readonly Directive[]): string {
  return lines.map(({ name, args, place }) => `${[name, ...args].join(' ')} (${place})`).join(', ');
}
