/** Finds error pages that lead from a location without a check into one with it, where a denial is no 429. */
import type { Diagnostic } from '../../../../gateway/config/diagnostic.ts';
import { found } from '../catalog.ts';
import { statusesOf } from './denials.ts';
import {
  inherited,
  innerLevels,
  isChecked,
  isForHeadgate,
  type Level,
  levelsIn,
  nearest,
  PASS,
} from './levels.ts';
import { locationFor } from './locations.ts';
import { serversThatAsk } from './sites.ts';
import type { Directive } from './tree.ts';

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
    return [found('denial-on-error-page', line.place, problem)];
  });
}
