/** What an NGINX configuration says about its checks. */

import { type Directive, everyDirective } from '../../nginx-syntax/directive.ts';
import { type ProxyFacts, SECRET_HEADER } from '../reader.ts';
import { asksHeadgate } from './levels.ts';
import { serversIn } from './upstreams.ts';

export function nginxFacts(tree: readonly Directive[]): ProxyFacts | undefined {
  const all = everyDirective(tree);
  const check = all.find(
    ({ name, block }) => name === 'location' && block.some((each) => asksHeadgate(each)),
  );
  if (check === undefined || !all.some(({ name }) => name === 'auth_request')) return undefined;
  const { block } = check;
  const serversOf = serversIn({ block: tree.flatMap((each) => each.block) });
  const sent = new Map(
    block
      .filter(({ name }) => name === 'proxy_set_header')
      .map(({ args: [header = '', value = ''] }) => [header.toLowerCase(), value]),
  );
  const sendsAll = !block.some((each) => is(each, 'proxy_pass_request_headers', 'off'));
  const fromClient = (header: string, value: string) =>
    value === `$http_${header.replaceAll('-', '_')}`;
  const passed = [...sent].filter(([header, value]) => fromClient(header, value));
  const owned = [...sent].filter(([header, value]) => !fromClient(header, value));
  const pages = block.filter(({ name }) => name === 'error_page').map(({ args }) => args);
  return {
    proxy: 'nginx',
    passed: sendsAll ? 'all' : new Set(passed.map(([header]) => header)),
    owned: new Set(owned.map(([header]) => header)),
    secret: sent.get(SECRET_HEADER),
    gateways: serversOf(block.find(asksHeadgate)?.args[0] ?? '', { at: check, around: [] })
      .flat()
      .filter((address) => !address.includes('$')),
    losesDenials:
      !block.some((each) => is(each, 'proxy_intercept_errors', 'on')) ||
      !pages.some((args) => args.includes('429')),
    refusesAll: !pages.some((args) => args.includes('502')),
    place: check.where,
    secretPlace: block.find(
      ({ name, args: [header = ''] }) =>
        name === 'proxy_set_header' && header.toLowerCase() === SECRET_HEADER,
    )?.where,
  };
}

function is({ name, args }: Directive, wanted: string, value: string): boolean {
  return name === wanted && args[0] === value;
}
