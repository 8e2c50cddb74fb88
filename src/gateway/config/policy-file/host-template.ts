/** Validates hosts of policies: `api.example.com`, or `*.example.com` for all hosts below it. */
import { domainToASCII } from 'node:url';

export const HOST_PATTERN =
  /^(\*\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
/** The limit of DNS names in text form (RFC 1035, section 2.3.4). */
const MAX_LENGTH = 253;
const FORM = 'write a lower-case host name, such as api.example.com or *.example.com';

/** Returns the host. Throws a RangeError whose message gives the right form. */
export function checkHostTemplate(text: string): string {
  if (text.length > MAX_LENGTH) {
    throw new RangeError(`must have at most ${MAX_LENGTH} characters`);
  }
  if (HOST_PATTERN.test(text)) return text;
  if (EVERY_HOST.test(text)) throw new RangeError(`"${text}" means every host: leave out "host"`);
  const meant = meantBy(text);
  const hosts = meant.map((each) => `"${each}"`).join(' and ');
  const remedy = !meant.every((each) => HOST_PATTERN.test(each))
    ? FORM
    : meant.length === 1
      ? `write ${hosts}`
      : `write one policy for each of ${hosts}`;
  throw new RangeError(`"${text}" ${problemOf(text)}: ${remedy}`);
}

const EVERY_HOST = /^(\*+|\.[*+])(\.\*+)*$/;
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\//i;
const PATTERN = /[{}()<>$^+*\\?|~]|\[(?!.*:)/;

function problemOf(text: string): string {
  if (ORIGIN.test(text)) return 'has a scheme';
  if (/\s|,/.test(text.trim())) return 'is not a single host';
  if (PATTERN.test(text)) return 'has a pattern other than "*." at its start';
  if (text.includes('/')) return 'has a path';
  if (/:\d*$/.test(text)) return 'has a port';
  return /[A-Z]/.test(text) ? 'has upper-case letters' : 'is not a host name';
}

/** The hosts that the author probably meant. */
function meantBy(text: string): string[] {
  const written = text
    .trim()
    .replace(ORIGIN, '')
    .replace(/^~?\^|\$$/g, '');
  const bare = written.replaceAll('\\.', '.').replace(/[/:].*$/, '');
  return bare.split(/[|,\s]+/).map((each) => {
    const ascii = /[^\x21-\x7e]/.test(each) ? domainToASCII(each) : each.toLowerCase();
    const name = ascii.replace(/\.$/, '').replaceAll('[^.]', '*');
    // Some servers write all hosts of a domain with a pattern, or nothing, in place of the first labels.
    const labels = name.split('.');
    const first = labels.findIndex((label) => label !== '' && !PATTERN.test(label));
    // `*example.com`: the rest of the label is a name.
    const glued = /^\*+([a-z0-9-]+)$/.exec(labels[0] ?? '')?.[1];
    if (glued !== undefined) return `*.${[glued, ...labels.slice(1)].join('.')}`;
    // Nobody means all hosts of a top-level domain.
    if (first > 0 && labels.length - first === 1) return '';
    return first <= 0 ? name : `*.${labels.slice(first).join('.')}`;
  });
}
