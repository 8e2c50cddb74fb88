/** Finds where Caddy passes on another path than the one that headgate checks, and a policy for it does not apply. */
import type { ValidFile } from '../../config/policy-file/compile.ts';
import type { PolicyEntry } from '../../config/policy-file/policy-schema.ts';
import { routeMatchOf } from '../../config/policy-file/route.ts';
import { asks, checksRewritten, isCheck, within } from './caddy-checks.ts';
import { moveOf } from './caddy-moves.ts';
import { hostsOfSite, takerOf } from './caddy-sites.ts';
import type { CaddyDirective, CaddyTree } from './caddy-tree.ts';
import { passesOn, upstreamsOf } from './caddy-upstreams.ts';
import type { Rewrite } from './rewrites.ts';
import { compilePaths, limitingEntries, samplesOf } from './unchecked-paths.ts';

export function caddyRewrites({ sites }: CaddyTree, file: ValidFile): Rewrite[] {
  return sites.filter(asks).flatMap((at) => {
    const site = { hosts: hostsOfSite(at) };
    const entries = limitingEntries(site, file);
    const policiesFor = compilePaths(entries, {
      hosts: site.hosts,
      caseSensitive: file.caseSensitive,
    });
    const isAvoided = (entry: PolicyEntry, path: string) =>
      !entries.some((each) => policiesFor(path).includes(each.name) && isAsGood(each, entry));
    return movesIn(at).flatMap(({ line, block }) => {
      const sourcesOf = moveOf(line);
      if (sourcesOf === undefined) return [];
      const policies = entries
        .filter((entry) =>
          samplesOf(routeMatchOf(entry, true).path ?? '/').some(
            (path) =>
              isSameApplication(at, block, path) &&
              sourcesOf(path).some((source) => isAvoided(entry, source)),
          ),
        )
        .map(({ name }) => name);
      const { name, args, place } = line;
      return policies.length === 0 ? [] : [{ what: [name, ...args].join(' '), place, policies }];
    });
  });
}

/** The same policy, or one with the same limits that somebody wrote for the other path. */
function isAsGood(found: PolicyEntry, entry: PolicyEntry): boolean {
  const limits = ({ limits, plans }: PolicyEntry) => JSON.stringify([limits, plans]);
  return found === entry || limits(found) === limits(entry);
}

const BLOCKS = /^(handle|handle_path|route|handle_errors)$/;

/** Whether the new path belongs to the application that gets it. */
function isSameApplication(site: CaddyDirective, block: CaddyDirective, path: string): boolean {
  const [usual, reached] = [takerOf(site, path), takerOf(block, path)];
  if (usual === undefined || reached === undefined || usual === reached) return true;
  const applications = (line: CaddyDirective) =>
    within(line).flatMap((each) => (passesOn(each) ? upstreamsOf(each) : []));
  const own = applications(usual);
  // Without an application of its own and a check, the path is one that only the application knows.
  if (own.length === 0) return !site.block.some(isCheck) && !asks(usual);
  const reachedHere = applications(reached);
  return own.some((each) => reachedHere.includes(each));
}

interface Move {
  readonly line: CaddyDirective;
  /** Where the moved request goes on. */
  readonly block: CaddyDirective;
}

/** The lines that headgate is asked before or after, but for those whose new path is checked as well. */
function movesIn(site: CaddyDirective): Move[] {
  const found: Move[] = [];
  const walk = (block: CaddyDirective, isAsked: boolean) => {
    const asked = isAsked || block.block.some(isCheck);
    for (const line of block.block) {
      if (isCheck(line)) continue;
      // A check of the new path runs after the line.
      const next = line.name === 'handle_path' ? line : block;
      const after = within(next).filter(isCheck);
      if ((asked || after.length > 0) && !after.some(checksRewritten))
        found.push({ line, block: next });
      if (BLOCKS.test(line.name)) walk(line, asked);
    }
  };
  walk(site, false);
  return found;
}
