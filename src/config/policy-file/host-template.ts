/** Hosts of policies: `api.example.com`, or `*.example.com` for all below it. No other pattern, no port, no scheme. */
import { domainToASCII } from 'node:url';

export const HOST_PATTERN =
  /^(\*\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
/** Of a DNS name in text form (RFC 1035, section 2.3.4). */
const MAX_LENGTH = 253;
const FORM = 'write a lower-case host name, such as api.example.com or *.example.com';

/** Returns the host. Throws a RangeError that says how it would be right. */
export function checkHostTemplate(text: string): string {
  if (text.length > MAX_LENGTH) {
    throw new RangeError(`must have at most ${MAX_LENGTH} characters`);
  }
  if (HOST_PATTERN.test(text)) return text;
  if (EVERY_HOST.test(text)) throw new RangeError(`"${text}" is every host: leave out "host"`);
  const meant = meantBy(text);
  const hosts = meant.map((each) => `"${each}"`).join(' and ');
  const remedy = !meant.every((each) => HOST_PATTERN.test(each))
    ? FORM
    : meant.length === 1
      ? `write ${hosts}`
      : `write a policy each for ${hosts}`;
  throw new RangeError(`"${text}" ${whatIsWrong(text)}: ${remedy}`);
}

const EVERY_HOST = /^(\*+|\.[*+])(\.\*+)*$/;
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\//i;
const PATTERN = /[{}()<>$^+*\\?|~]|\[(?!.*:)/;

function whatIsWrong(text: string): string {
  if (ORIGIN.test(text)) return 'has a scheme';
  if (/\s|,/.test(text.trim())) return 'is no single host';
  if (PATTERN.test(text)) return 'has a pattern other than "*." at its start';
  if (text.includes('/')) return 'has a path';
  if (/:\d*$/.test(text)) return 'has a port';
  return /[A-Z]/.test(text) ? 'has upper-case letters' : 'is no host name';
}

/** The hosts that were probably meant. */
function meantBy(text: string): string[] {
  const written = text
    .trim()
    .replace(ORIGIN, '')
    .replace(/^~?\^|\$$/g, '');
  const bare = written.replaceAll('\\.', '.').replace(/[/:].*$/, '');
  return bare.split(/[|,\s]+/).map((each) => {
    const ascii = /[^\x21-\x7e]/.test(each) ? domainToASCII(each) : each.toLowerCase();
    const name = ascii.replace(/\.$/, '').replaceAll('[^.]', '*');
    // A pattern of any kind in place of its first labels, or nothing, as servers write all hosts of a domain.
    const labels = name.split('.');
    const first = labels.findIndex((label) => label !== '' && !PATTERN.test(label));
    // `*example.com`: what is left of a label without its star is still a name.
    const glued = /^\*+([a-z0-9-]+)$/.exec(labels[0] ?? '')?.[1];
    if (glued !== undefined) return `*.${[glued, ...labels.slice(1)].join('.')}`;
    // Every host of a top-level domain is nobody's.
    if (first > 0 && labels.length - first === 1) return '';
    return first <= 0 ? name : `*.${labels.slice(first).join('.')}`;
  });
}
