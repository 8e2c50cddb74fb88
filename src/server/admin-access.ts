/**
 * Who may ask and steer: whoever shows the token, or, where none is set, whoever is on this machine. There the port is
 * on a loopback, and a page in a browser is kept out by the name that it has to call the machine by.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { canonicalAddress, isLoopback } from '../core/address.ts';
import { compileSecrets } from './secrets.ts';

export type AdminAccess = (
  headers: IncomingHttpHeaders,
) => 'granted' | 'unauthorized' | 'forbidden';

export function compileAdminAccess(token: string | undefined): AdminAccess {
  if (token === undefined) return ({ host }) => (isThisMachine(host) ? 'granted' : 'forbidden');
  const isToken = compileSecrets([token]);
  return ({ authorization = '' }) => {
    // RFC 6750, section 2.1; the scheme in any case (RFC 9110, section 11.1).
    const [, given] = /^bearer +(\S+) *$/i.exec(authorization) ?? [];
    return given !== undefined && isToken(given) ? 'granted' : 'unauthorized';
  };
}

/** A name that an attacker's DNS leads here is not one of them. */
function isThisMachine(host = ''): boolean {
  const name = host.replace(/:\d+$/, '');
  return name.toLowerCase() === 'localhost' || isLoopback(canonicalAddress(name) ?? '');
}
