import { type Directive, directiveText, named } from '../../proxy-files/nginx-syntax/directive.ts';
import { type Finding, leftOut, note } from '../shared/finding.ts';
import type { ImportedFile } from '../shared/imported-limit.ts';
import { canBeTrusted, UNTRUSTED } from '../shared/ranges.ts';

type RealIp = Pick<ImportedFile, 'sources' | 'trustedProxies' | 'findings'>;

const KEEP =
  'keep this line in NGINX: NGINX reports the address to headgate. headgate itself reads X-Forwarded-For; to read another header, name it in identity.sources.';
const KNOWN_HEADERS = new Set(['x-forwarded-for', 'proxy_protocol']);

/** `directives` are those of all levels. */
export function realIpOf(directives: readonly Directive[]): RealIp {
  const headers = named(directives, 'real_ip_header');
  const nameIn = ({ args: [name = ''] }: Directive) => name.toLowerCase();
  // The networks of Cloudflare come with headgate.
  if (headers.some((each) => nameIn(each) === 'cf-connecting-ip'))
    return { sources: ['cf_connecting_ip'], findings: [] };
  const unread = headers.find((each) => !KNOWN_HEADERS.has(nameIn(each)));
  const findings: Finding[] =
    unread === undefined ? [] : [note(unread.place, directiveText(unread), KEEP)];
  const trustedProxies = named(directives, 'set_real_ip_from').flatMap((directive) => {
    const [network = ''] = directive.args;
    if (canBeTrusted(network)) return [network];
    findings.push(leftOut(directive.place, directiveText(directive), UNTRUSTED));
    return [];
  });
  return { trustedProxies, findings };
}
