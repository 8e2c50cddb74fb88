/**
 * Who may ask and steer: whoever shows the token, or, where none is set, whoever is on this machine. There the port is
 * on a loopback, and pages in a browser are kept out: by the name that they call the machine by, where an attacker's DNS
 * leads it here, and by what browsers say of where a question comes from (Origin, Sec-Fetch-Site).
 */
import type { IncomingHttpHeaders } from 'node:http';
import { canonicalAddress, isLoopback } from '../core/address.ts';
import { compileSecrets } from './secrets.ts';

export type AdminAccess = (
  headers: IncomingHttpHeaders,
) => 'granted' | 'unauthorized' | 'forbidden';

export function compileAdminAccess(token: string | undefined): AdminAccess {
  if (token === undefined) {
    return (headers) =>
      isThisMachine(headers.host) && !isFromElsewhere(headers) ? 'granted' : 'forbidden';
  }
  const isToken = compileSecrets([token]);
  return ({ authorization = '' }) => {
    // RFC 6750, section 2.1; the scheme in any case (RFC 9110, section 11.1).
    const [, given] = /^bearer +(\S+) *$/i.exec(authorization) ?? [];
    return given !== undefined && isToken(given) ? 'granted' : 'unauthorized';
  };
}

/** Of a page that is not of this port; what is no browser says nothing. */
function isFromElsewhere({
  origin,
  'sec-fetch-site': site = 'none',
}: IncomingHttpHeaders): boolean {
  return origin !== undefined || !['none', 'same-origin'].includes(site);
}

/** A name that an attacker's DNS leads here is not one of them. */
function isThisMachine(host = ''): boolean {
  const name = host.replace(/:\d+$/, '');
  return name.toLowerCase() === 'localhost' || isLoopback(canonicalAddress(name) ?? '');
}
