/** Reads a Caddyfile, with the files that it imports. */
import { found } from '../catalog.ts';
import { PRINTED_PART } from '../part-of-file.ts';
import { filesOf } from '../proxy-files.ts';
import { FROM_ENVIRONMENT, type ProxyFacts, type ReadProxyFile, SECRET_HEADER } from '../reader.ts';
import { isCheck, within } from './checks.ts';
import { readCaddyfile } from './imports.ts';
import { caddyParts } from './parts.ts';
import { caddyRewrites } from './rewrites.ts';
import { caddySites, ownSiteFor } from './sites.ts';
import { type CaddyDirective, type CaddyTree, caddyTree } from './tree.ts';
import { upstreamsOf } from './upstreams.ts';
import { caddyWays } from './ways.ts';

export const readCaddy: ReadProxyFile = ({ file, path, text: main }) => {
  const { text, lines, findings: unread } = readCaddyfile(filesOf(path, main));
  const tree = caddyTree(lines);
  const facts = factsOf(tree);
  if (facts !== undefined)
    return {
      facts,
      sites: caddySites(tree),
      ways: caddyWays(tree),
      rewrites: caddyRewrites(tree),
      own: caddyParts(tree),
      unread,
      text,
    };
  if (!tree.snippets.has('headgate') || PRINTED_PART.test(main)) return undefined;
  const problem = 'no site has import headgate, so nothing is limited';
  return { unread, own: [found('unknown-proxy-file', file, problem)] };
};

/** Undefined if no site asks headgate. */
function factsOf({ sites }: CaddyTree): ProxyFacts | undefined {
  const all = sites.flatMap(within);
  const checks = all.filter(isCheck);
  const [check] = checks;
  if (check === undefined) return undefined;
  const set = checks
    .flatMap(({ block }) => block)
    .filter(({ name }) => name === 'header_up')
    .map(({ args: [name = '', value = ''] }) => ({
      name: name.replace(/^[+-]/, '').toLowerCase(),
      value,
    }));
  const secret = set.find(({ name }) => name === SECRET_HEADER)?.value;
  const own = checks.flatMap((each) => ownSiteFor(each, sites) ?? []);
  return {
    proxy: 'caddy',
    passed: 'all',
    owned: new Set(set.map(({ name }) => name)),
    secret: secret?.startsWith('{') ? FROM_ENVIRONMENT : secret,
    gateways: gatewaysOf(own[0]?.block.find(({ name }) => name === 'reverse_proxy') ?? check),
    losesDenials: false,
    refusesAll: !checks.some(passesFailures) && !hasErrorPage(sites, own),
  };
}

function gatewaysOf(line: CaddyDirective): string[] {
  // The environment of Caddy is not known here.
  return upstreamsOf(line).filter((address) => !address.includes('{'));
}

/** Whether requests pass if the gateway is down. */
function passesFailures({ block }: CaddyDirective): boolean {
  return block.some(
    ({ name, args }) => name === 'handle_response' && args[0] === '@headgate_failed',
  );
}

/** The parts of 0.2 pass these requests on from there. */
function hasErrorPage(sites: readonly CaddyDirective[], own: readonly CaddyDirective[]): boolean {
  return sites.some(
    (site) => !own.includes(site) && site.block.some(({ name }) => name === 'handle_errors'),
  );
}
