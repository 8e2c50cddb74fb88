/** Finds sites in which the parts that headgate 0.2 has printed for Caddy take requests from other lines. */
import { type DoctorFinding, found } from '../catalog.ts';
import { isCheck, within } from './caddy-checks.ts';
import type { CaddyDirective, CaddyTree } from './caddy-tree.ts';

/** These run after the `route` of the part, which answers every request. */
const LATER = /^(abort|error|respond|metrics|reverse_proxy|php_fastcgi|file_server)$/;

export function caddyOldParts({ sites }: CaddyTree): DoctorFinding[] {
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
