/** Which directive of a Caddyfile takes a request, and whether headgate is asked before it. */
import { addressOf } from '../addresses.ts';
import { hostsOf } from '../path-policies.ts';
import type { Route } from '../routes.ts';
import { fitsRule, type Site } from '../unchecked-paths.ts';
import {
  asks,
  isCheck,
  matcherOf,
  passesOn,
  sitesThatAsk,
  upstreamsOf,
  visitLines,
} from './directives.ts';
import type { CaddyDirective, CaddyTree } from './tree.ts';

export function caddySites(tree: CaddyTree): Site[] {
  return sitesThatAsk(tree).map(siteOf);
}

/** In the order of Caddy, which tries the longest path of each kind first. */
const TAKERS = [
  /^(handle|handle_path)$/,
  /^route$/,
  /^(abort|error|respond|metrics)$/,
  /^reverse_proxy$/,
  /^php_fastcgi$/,
  /^file_server$/,
];

/** The lines of a block that may take requests, in the order in which Caddy tries them. */
function takersIn({ block }: CaddyDirective): CaddyDirective[] {
  return TAKERS.flatMap((kind) =>
    block.filter((line) => kind.test(line.name) && !isCheck(line)).sort(byPath),
  );
}

/** What takes a request that no named matcher fits. */
export function takerOf(block: CaddyDirective, path: string): CaddyDirective | undefined {
  return takersIn(block).find((line) => !isNamed(line) && takes(line, path));
}

function isNamed(line: CaddyDirective): boolean {
  return matcherOf(line)?.startsWith('@') === true;
}

/** These change the request or take it before any of these lines. */
const UNKNOWN = /^(redir|rewrite|uri|try_files|import|invoke)$/;

function addressesOf({ name, args }: CaddyDirective): string[] {
  return [name, ...args].flatMap((each) => each.split(',')).filter((each) => each !== '');
}

/** The part of headgate sends checks to a site of the same Caddyfile, which passes them on. */
export function ownSiteFor(
  check: CaddyDirective,
  sites: readonly CaddyDirective[],
): CaddyDirective | undefined {
  const asked = upstreamsOf(check);
  return sites.find((site) => addressesOf(site).some((each) => asked.includes(addressOf(each))));
}

export function hostsOfSite(site: CaddyDirective): readonly string[] | undefined {
  return hostsOf(addressesOf(site).map((name) => name.replace(/^https?:\/\/|:\d+$/g, '')));
}

function siteOf(site: CaddyDirective): Site {
  const takers = takersIn(site);
  const isUnknown =
    site.block.some(({ name }) => UNKNOWN.test(name)) ||
    takers.some((line) => isNamed(line) && asks(line));
  const isChecked = site.block.some(isCheck);
  return {
    hosts: hostsOfSite(site),
    paths: takers.flatMap((line) => pathOf(line)?.replace(/\*$/, '') ?? []),
    choose(path) {
      if (isUnknown) return undefined;
      const found = takerOf(site, path);
      if (found === undefined || !leadsOn(found)) return undefined;
      const what = [found.name, ...found.args].join(' ');
      return { what, place: found.place, isUnchecked: !isChecked && !asks(found) };
    },
  };
}

function pathOf(line: CaddyDirective): string | undefined {
  const matcher = matcherOf(line);
  return matcher?.startsWith('/') ? matcher : undefined;
}

function byPath(a: CaddyDirective, b: CaddyDirective): number {
  return (pathOf(b)?.length ?? 0) - (pathOf(a)?.length ?? 0);
}

/** Caddy compares paths without regard to case. */
function takes(line: CaddyDirective, path: string): boolean {
  const rule = pathOf(line);
  return rule === undefined || fitsRule(path.toLowerCase(), rule.toLowerCase());
}

/** False if another block or snippet decides. */
function leadsOn(line: CaddyDirective): boolean {
  if (passesOn(line)) return true;
  const { block } = line;
  return block.some(passesOn) && !block.some(({ name }) => LEAVES.test(name));
}

const LEAVES = /^(import|redir|respond|error|abort)$/;

export function caddyRoutes(tree: CaddyTree): Route[] {
  return tree.sites.flatMap((site) => {
    const routes: Route[] = [];
    const name = [site.name, ...site.args].join(' ');
    visitLines(site, tree, (line, isChecked) => {
      if (!passesOn(line)) return;
      const what = `${[line.name, ...line.args].join(' ')} of ${name}`;
      routes.push({ what, place: line.place, servers: upstreamsOf(line), isChecked });
    });
    return routes;
  });
}
