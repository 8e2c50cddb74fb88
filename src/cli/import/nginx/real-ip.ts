import { addressRange } from '../../../gateway/config/policy-file/access-schema.ts';
import { type Directive, directiveText, named } from '../../proxy-files/nginx-syntax/directive.ts';
import { type Finding, leftOut, note } from '../shared/finding.ts';

export interface RealIp {
  readonly sources: readonly string[];
  readonly trustedProxies: readonly string[];
  readonly findings: readonly Finding[];
}

/** `directives` are those of all levels. */
export function realIpOf(directives: readonly Directive[]): RealIp {
  const headers = named(directives, 'real_ip_header');
  const names = new Set(headers.map(({ args: [name = ''] }) => name.toLowerCase()));
  const networks = named(directives, 'set_real_ip_from');
  // The networks of Cloudflare come with headgate.
  if (names.has('cf-connecting-ip'))
    return { sources: ['cf_connecting_ip'], trustedProxies: [], findings: [] };
  const findings: Finding[] = [];
  const unread = headers.find(
    ({ args: [name = ''] }) => !['x-forwarded-for', 'proxy_protocol'].includes(name.toLowerCase()),
  );
  if (unread !== undefined) {
    findings.push(
      note(
        unread.place,
        directiveText(unread),
        'keep this line in NGINX: NGINX reports the address to headgate. headgate itself reads X-Forwarded-For; to read another header, name it in identity.sources.',
      ),
    );
  }
  const trustedProxies = networks.flatMap((directive) => {
    const [network = ''] = directive.args;
    if (addressRange.safeParse(network).success && network !== 'cloudflare') return [network];
    findings.push(
      leftOut(
        directive.place,
        directiveText(directive),
        'identity.trusted_proxies has networks, and none of every address. Name the networks of your proxies.',
      ),
    );
    return [];
  });
  return { sources: [], trustedProxies, findings };
}

/** Names such as `localhost` and ranges of every address cannot be exempt. */
export function exemptNetworks(networks: readonly string[]): readonly string[] {
  return networks.filter((network) => addressRange.safeParse(network).success);
}
