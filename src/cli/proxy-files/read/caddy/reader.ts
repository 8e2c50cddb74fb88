import type { Diagnostic } from '../../../../gateway/config/diagnostic.ts';
import { addressOf } from '../addresses.ts';
import { found } from '../catalog.ts';
import { filesOf } from '../proxy-files.ts';
import {
  FROM_ENVIRONMENT,
  PRINTED_PART,
  type ProxyFacts,
  type ReadProxyFile,
  SECRET_HEADER,
} from '../reader.ts';
import { readCaddyfile } from './caddyfile.ts';
import { isCheck, upstreamsOf, within } from './directives.ts';
import { caddyRewrites } from './rewrites.ts';
import { caddyRoutes, caddySites, ownSiteFor } from './routes.ts';
import { type CaddyDirective, type CaddyTree, caddyTree } from './tree.ts';

export const readCaddy: ReadProxyFile = ({ file, path, text: main }) => {
  const { text, lines, findings: unread } = readCaddyfile(filesOf(path, main));
  const tree = caddyTree(lines);
  const facts = factsOf(tree);
  if (facts !== undefined)
    return {
      facts,
      sites: caddySites(tree),
      routes: caddyRoutes(tree),
      rewrites: caddyRewrites(tree),
      own: [...missingPart(tree), ...oldParts(tree)],
      unread,
      text,
    };
  if (!tree.snippets.has('headgate') || PRINTED_PART.test(main)) return undefined;
  const problem = 'no site has import headgate, so nothing is limited';
  return { unread, own: [found('unknown-proxy-file', file, problem)] };
};

function factsOf({ sites }: CaddyTree): ProxyFacts | undefined {
  const all = sites.flatMap(within);
  const checks = all.filter(isCheck);
  const [check] = checks;
  if (check === undefined) return undefined;
  const set = checks
    .flatMap(({ block }) => block)
    .filter(({ name, args }) => name === 'header_up' && !keepsClients(args))
    .map(({ args: [name = '', value = ''] }) => ({
      name: name.replace(/^-/, '').toLowerCase(),
      value,
    }));
  const secret = set.find(({ name }) => name === SECRET_HEADER)?.value;
  const own = checks.flatMap((each) => ownSiteFor(each, sites) ?? []);
  const leading = own[0]?.block.find(({ name }) => name === 'reverse_proxy') ?? check;
  return {
    proxy: 'caddy',
    passed: 'all',
    owned: new Set(set.map(({ name }) => name)),
    secret: secret?.startsWith('{') ? FROM_ENVIRONMENT : secret,
    // The environment of Caddy is not known here.
    gateways: upstreamsOf(leading).filter((address) => !address.includes('{')),
    refusesAll: !checks.some(passesFailures) && !hasErrorPage(sites, own),
  };
}

/** A plus adds a value, a third argument replaces a part of it, and a placeholder copies it. */
function keepsClients([name = '', value = '', replaced]: readonly string[]): boolean {
  const copied = value.toLowerCase().includes(`header.${name.toLowerCase()}}`);
  return name.startsWith('+') || replaced !== undefined || copied;
}

function passesFailures({ block }: CaddyDirective): boolean {
  return block.some(
    ({ name, args }) => name === 'handle_response' && args[0] === '@headgate_failed',
  );
}

/** The parts of 0.2 pass requests on from there if the gateway is down. */
function hasErrorPage(sites: readonly CaddyDirective[], own: readonly CaddyDirective[]): boolean {
  return sites.some(
    (site) => !own.includes(site) && site.block.some(({ name }) => name === 'handle_errors'),
  );
}

/** These run after the `route` of the part, which answers every request. */
const LATER = /^(abort|error|respond|metrics|reverse_proxy|php_fastcgi|file_server)$/;

/** Caddy reads larger headers than headgate, unless the part for the global options limits those of the checks. */
function missingPart({ sites, options }: CaddyTree): Diagnostic[] {
  const check = sites.flatMap(within).find(isCheck);
  const own = check && ownSiteFor(check, sites);
  if (check === undefined || own === undefined) return [];
  const upstreams = upstreamsOf(check);
  const isLimited = options.some(
    ({ name, args, block }) =>
      name === 'servers' &&
      upstreams.includes(addressOf(args[0] ?? '')) &&
      block.some((each) => each.name === 'max_header_size'),
  );
  const problem = `the global options have no servers ${upstreams[0]} with max_header_size`;
  return isLimited ? [] : [found('global-part-missing', own.place, problem)];
}

function oldParts({ sites }: CaddyTree): Diagnostic[] {
  return sites.flatMap((site) => {
    const part = site.block.find(isOldPart);
    if (part === undefined) return [];
    const errorPages = site.block.filter(({ name }) => name === 'handle_errors');
    const lost = [...site.block.filter(({ name }) => LATER.test(name)), ...errorPages.slice(1)];
    return lost.map(({ name, args, place }) => {
      const problem = `${[name, ...args].join(' ')} has no effect in this site`;
      return found('part-takes-requests', place, problem);
    });
  });
}

function isOldPart(line: CaddyDirective): boolean {
  return (
    line.name === 'route' &&
    within(line).some((each) => each.name === 'reverse_proxy' && isCheck(each))
  );
}
