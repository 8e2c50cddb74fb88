/**
 * Recognizes requests that a web page in a browser sends, by the headers that browsers add (Origin, RFC 6454;
 * Sec-Fetch-Site, w3.org/TR/fetch-metadata). A page of any site can reach the ports of the machine that shows it.
 */
import type { IncomingHttpHeaders } from 'node:http';

/** Callers that are not browsers send neither header. `ownOrigin`: the origin whose pages may send requests, if any. */
export function isFromWebPage(headers: IncomingHttpHeaders, ownOrigin?: string): boolean {
  const { origin, 'sec-fetch-site': site = 'none' } = headers;
  const isForeign = origin !== undefined && origin !== ownOrigin;
  return isForeign || !['none', 'same-origin'].includes(site);
}
