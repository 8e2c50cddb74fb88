import { addressOf } from '../addresses.ts';
import { hostsOf } from '../path-policies.ts';
import { fitsRule, type Route, type Site } from '../unchecked-paths.ts';
import { hasCheck, isCheck, linesOf, matcherOf, passesOn, upstreamsOf } from './directives.ts';
import type { CaddyDirective, CaddyTree } from './tree.ts';

export function caddySites(tree: CaddyTree): Site[] {
  return tree.sites.filter(hasCheck).map(siteOf);
}

/** Caddy tries these kinds in this order, and the longest path of each kind first. */
const TAKERS = [
  /^(handle|handle_path)$/,
  /^route$/,
  /^(abort|error|respond|metrics)$/,
  /^reverse_proxy$/,
  /^php_fastcgi$/,
  /^file_server$/,
];

function takersIn({ block }: CaddyDirective): CaddyDirective[] {
  return TAKERS.flatMap((kind) =>
    block
      .filter((line) => kind.test(line.name) && !isCheck(line))
      .sort((a, b) => (pathOf(b)?.length ?? 0) - (pathOf(a)?.length ?? 0)),
  );
}

/** Returns the line that takes a request which no named matcher fits. */
export function takerOf(block: CaddyDirective, path: string): CaddyDirective | undefined {
  return takersIn(block).find((line) => !isNamed(line) && takes(line, path));
}

function isNamed(line: CaddyDirective): boolean {
  return matcherOf(line)?.startsWith('@') === true;
}

/** These change the request, or take it before all other lines. */
const UNKNOWN = /^(redir|rewrite|uri|try_files|import|invoke)$/;

function addressesOf({ name, args }: CaddyDirective): string[] {
  return [name, ...args].flatMap((each) => each.split(',')).filter((each) => each !== '');
}

/** The part of headgate sends checks to a site of the same Caddyfile, which passes them on. */
export function ownSiteFor(
  check: CaddyDirective,
  sites: readonly CaddyDirective[],
): CaddyDirective | undefined {
  const upstreams = upstreamsOf(check);
  return sites.find((site) =>
    addressesOf(site).some((each) => upstreams.includes(addressOf(each))),
  );
}

export function hostsOfSite(site: CaddyDirective): readonly string[] | undefined {
  return hostsOf(addressesOf(site).map((name) => name.replace(/^https?:\/\/|:\d+$/g, '')));
}

function siteOf(site: CaddyDirective): Site {
  const takers = takersIn(site);
  const isUnknown =
    site.block.some(({ name }) => UNKNOWN.test(name)) ||
    takers.some((line) => isNamed(line) && hasCheck(line));
  const isChecked = site.block.some(isCheck);
  return {
    hosts: hostsOfSite(site),
    paths: takers.flatMap((line) => pathOf(line)?.replace(/\*$/, '') ?? []),
    choose(path) {
      if (isUnknown) return undefined;
      const found = takerOf(site, path);
      if (found === undefined || !leadsOn(found)) return undefined;
      const what = [found.name, ...found.args].join(' ');
      return { what, place: found.place, isUnchecked: !isChecked && !hasCheck(found) };
    },
  };
}

function pathOf(line: CaddyDirective): string | undefined {
  const matcher = matcherOf(line);
  return matcher?.startsWith('/') ? matcher : undefined;
}

function takes(line: CaddyDirective, path: string): boolean {
  const rule = pathOf(line);
  return rule === undefined || fitsRule(path.toLowerCase(), rule.toLowerCase());
}

const LEAVES = /^(import|redir|respond|error|abort)$/;

function leadsOn(line: CaddyDirective): boolean {
  const { block } = line;
  return passesOn(line) || (block.some(passesOn) && !block.some(({ name }) => LEAVES.test(name)));
}

export function caddyRoutes(tree: CaddyTree): Route[] {
  return tree.sites.flatMap((site) => {
    const name = [site.name, ...site.args].join(' ');
    return linesOf(site, tree)
      .filter(({ line }) => passesOn(line))
      .map(({ line, isChecked }) => ({
        what: `${[line.name, ...line.args].join(' ')} of ${name}`,
        place: line.place,
        servers: upstreamsOf(line),
        isChecked,
      }));
  });
}
