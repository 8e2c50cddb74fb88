/** Finds the IPv4 address in an IPv6 address of a translator or tunnel. */
import ipaddr from 'ipaddr.js';

export interface EmbeddedIPv4 {
  readonly form: 'nat64' | 'local-nat64' | 'siit' | '6to4' | 'teredo';
  readonly address: string;
}

/** Takes an address in its canonical spelling. Returns undefined if it embeds no IPv4 address. */
export function embeddedIPv4(address: string): EmbeddedIPv4 | undefined {
  if (!MAY_EMBED.some((start) => address.startsWith(start))) return undefined;
  const { parts } = ipaddr.IPv6.parse(address);
  const found = FORMS.find(({ holds }) => holds(parts));
  if (found === undefined) return undefined;
  const [high = 0, low = 0] = found.ipv4Of(parts);
  return { form: found.form, address: [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.') };
}

const MAY_EMBED = ['64:ff9b:', '2002:', '2001:0:', '2001::', '::ffff:0:'];

type Parts = readonly number[];

interface Form extends Pick<EmbeddedIPv4, 'form'> {
  readonly holds: (parts: Parts) => boolean;
  readonly ipv4Of: (parts: Parts) => Parts;
}

const begins = (parts: Parts, start: Parts) => start.every((part, i) => parts[i] === part);
const lastTwo = (parts: Parts) => parts.slice(6);
const isOfHost = ([high = 0, low = 0]: Parts) => high > 0xff && ((high & 0xff) | low) !== 0;
const inverted = (part: number) => part ^ 0xffff;

const FORMS: readonly Form[] = [
  // RFC 6052, section 2.1.
  { form: 'nat64', holds: (parts) => begins(parts, [0x64, 0xff9b, 0, 0, 0, 0]), ipv4Of: lastTwo },
  // RFC 8215. If its translator uses another prefix length than /96, at least the last 24 bits are zero.
  {
    form: 'local-nat64',
    holds: (parts) => begins(parts, [0x64, 0xff9b, 1]) && isOfHost(lastTwo(parts)),
    ipv4Of: lastTwo,
  },
  // RFC 2765: ::ffff:0:a.b.c.d.
  { form: 'siit', holds: (parts) => begins(parts, [0, 0, 0, 0, 0xffff, 0]), ipv4Of: lastTwo },
  // RFC 3056: every IPv4 address owns a /48, which contains 65,536 /64 networks.
  { form: '6to4', holds: (parts) => begins(parts, [0x2002]), ipv4Of: (parts) => parts.slice(1, 3) },
  // RFC 4380: the first 64 bits hold the server, which the client chooses. The client's address is bit-inverted.
  {
    form: 'teredo',
    holds: (parts) => begins(parts, [0x2001, 0]),
    ipv4Of: (parts) => lastTwo(parts).map(inverted),
  },
];
