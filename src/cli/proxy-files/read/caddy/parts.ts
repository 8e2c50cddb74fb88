/** Finds parts of headgate in a Caddyfile that are missing, or that take requests from other lines. */

import type { Diagnostic } from '../../../../gateway/config/diagnostic.ts';
import { addressOf } from '../addresses.ts';
import { found } from '../catalog.ts';
import { isCheck, within } from './checks.ts';
import { ownSiteFor } from './sites.ts';
import type { CaddyDirective, CaddyTree } from './tree.ts';
import { upstreamsOf } from './upstreams.ts';

/** These run after the `route` of the part, which answers every request. */
const LATER = /^(abort|error|respond|metrics|reverse_proxy|php_fastcgi|file_server)$/;

export function caddyParts(tree: CaddyTree): Diagnostic[] {
  return [...missingPart(tree), ...oldParts(tree)];
}

/** Caddy reads larger headers than headgate, unless the part for the global options limits those of the checks. */
function missingPart({ sites, options }: CaddyTree): Diagnostic[] {
  const check = sites.flatMap(within).find(isCheck);
  const own = check && ownSiteFor(check, sites);
  if (check === undefined || own === undefined) return [];
  const asked = upstreamsOf(check);
  const isLimited = options.some(
    ({ name, args, block }) =>
      name === 'servers' &&
      asked.includes(addressOf(args[0] ?? '')) &&
      block.some((each) => each.name === 'max_header_size'),
  );
  const problem = `the global options have no servers ${asked[0]} with max_header_size`;
  return isLimited ? [] : [found('global-part-missing', own.place, problem)];
}

function oldParts({ sites }: CaddyTree): Diagnostic[] {
  return sites.flatMap((site) => {
    const part = site.block.find(isOldPart);
    if (part === undefined) return [];
    const errorPages = site.block.filter(({ name }) => name === 'handle_errors');
    const lost = [...site.block.filter(({ name }) => LATER.test(name)), ...errorPages.slice(1)];
    return lost.map(({ name, args, place }) =>
      found(
        'part-takes-requests',
        place,
        `${[name, ...args].join(' ')} has no effect in this site`,
      ),
    );
  });
}

function isOldPart(line: CaddyDirective): boolean {
  return (
    line.name === 'route' &&
    within(line).some((each) => each.name === 'reverse_proxy' && isCheck(each))
  );
}
