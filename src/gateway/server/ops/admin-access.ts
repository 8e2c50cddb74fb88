/**
 * Decides which callers may use the ops API: those with the admin token or, if none is set, those on this machine. In that case
 * the port is on a loopback address, and web pages are kept out: by the Host header, because an attacker can point a DNS
 * name at this machine, and by the headers that browsers add (Origin, Sec-Fetch-Site). The page of the ops server itself is
 * let in: browsers send its own origin with every change that it makes.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { canonicalAddress, isLoopback } from '../../core/identity/address.ts';
import { compileSecrets, isFromWebPage } from '../callers.ts';

export type AdminAccess = (
  headers: IncomingHttpHeaders,
) => 'granted' | 'unauthorized' | 'forbidden';

export function compileAdminAccess(token: string | undefined): AdminAccess {
  if (token === undefined) {
    return (headers) =>
      namesThisMachine(headers.host) && !isFromWebPage(headers, ownOrigin(headers))
        ? 'granted'
        : 'forbidden';
  }
  const isToken = compileSecrets([token]);
  return ({ authorization = '' }) => {
    // RFC 6750, section 2.1; the scheme in any case (RFC 9110, section 11.1).
    const [, given] = /^bearer +(\S+) *$/i.exec(authorization) ?? [];
    return given !== undefined && isToken(given) ? 'granted' : 'unauthorized';
  };
}

/** The page of the ops server holds no data: if there is a token, every caller may load it, else those on this machine. */
export function compilePageAccess(
  token: string | undefined,
): (headers: IncomingHttpHeaders) => boolean {
  return ({ host }) => token !== undefined || namesThisMachine(host);
}

/** The ops server speaks plain HTTP. Browsers write an origin in lower case (RFC 6454, section 6). */
function ownOrigin({ host = '' }: IncomingHttpHeaders): string {
  return `http://${host.toLowerCase()}`;
}

function namesThisMachine(host = ''): boolean {
  const name = host.replace(/:\d+$/, '');
  return name.toLowerCase() === 'localhost' || isLoopback(canonicalAddress(name) ?? '');
}
