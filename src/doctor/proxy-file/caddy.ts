/** Reads what a Caddyfile says about its checks. */
import { isCheck, within } from './caddy-checks.ts';
import { addressesOf } from './caddy-sites.ts';
import type { CaddyDirective, CaddyTree } from './caddy-tree.ts';
import { addressOf, upstreamsOf } from './caddy-upstreams.ts';
import { FROM_ENVIRONMENT, type ProxyFacts, SECRET_HEADER } from './facts.ts';

/** Undefined if no site asks headgate. */
export function caddyFacts({ sites }: CaddyTree): ProxyFacts | undefined {
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

/** The part of headgate sends checks to a site of the same Caddyfile, which passes them on. */
export function ownSiteFor(
  check: CaddyDirective,
  sites: readonly CaddyDirective[],
): CaddyDirective | undefined {
  const asked = upstreamsOf(check);
  return sites.find((site) => addressesOf(site).some((each) => asked.includes(addressOf(each))));
}

function gatewaysOf(line: CaddyDirective): string[] {
  // The environment of Caddy is not known here.
  return upstreamsOf(line)
    .filter((address) => !address.includes('{'))
    .map((address) => address.replace(/^unix\//, 'unix:'));
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
