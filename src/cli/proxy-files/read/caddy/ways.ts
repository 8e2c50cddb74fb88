/** The ways of a Caddyfile to applications. */

import type { Way } from '../ways.ts';
import { visitLines } from './checks.ts';
import type { CaddyTree } from './tree.ts';
import { passesOn, upstreamsOf } from './upstreams.ts';

export function caddyWays(tree: CaddyTree): Way[] {
  return tree.sites.flatMap((site) => {
    const ways: Way[] = [];
    const name = [site.name, ...site.args].join(' ');
    visitLines(site, tree, (line, isChecked) => {
      if (!passesOn(line)) return;
      const what = `${[line.name, ...line.args].join(' ')} of ${name}`;
      ways.push({ what, place: line.place, servers: upstreamsOf(line), isChecked });
    });
    return ways;
  });
}
