/** Recognizes callers: by a secret that they send, and by the headers that browsers add for web pages. */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { HeaderFields } from '../core/check-request.ts';

export interface CallerOptions {
  /** A caller must send one of these as a header or as metadata. If there are none, every caller is answered. */
  readonly proxySecrets: readonly string[];
  readonly onUnauthorized: () => void;
  readonly onConnectionFault: (error: unknown) => void;
}

export const SECRET_HEADER = 'x-headgate-secret';

/** Takes the same time for every secret of the same length, so timing reveals the length and nothing else. */
export function compileSecrets(secrets: readonly string[]): (given: string) => boolean {
  const expected = secrets.map((secret) => Buffer.from(secret, 'latin1'));
  return (given) => {
    const bytes = Buffer.from(given, 'latin1');
    let matches = false;
    for (const each of expected) {
      if (each.length === bytes.length && timingSafeEqual(each, bytes)) matches = true;
    }
    return matches;
  };
}

/** If there are no secrets, every caller is accepted. */
export function compileSecretCheck(
  secrets: readonly string[],
  header = SECRET_HEADER,
): CallerCheck {
  if (secrets.length === 0) return () => true;
  const isOurs = compileSecrets(secrets);
  return (headers) => {
    const given = headers[header];
    return typeof given === 'string' && isOurs(given);
  };
}

export type CallerCheck = (headers: HeaderFields) => boolean;

/** Whether a caller has the secret of proxies. One without it is reported. */
export function compileCallerCheck({ proxySecrets, onUnauthorized }: CallerOptions): CallerCheck {
  const knowsSecret = compileSecretCheck(proxySecrets);
  return (headers) => {
    const isKnown = knowsSecret(headers);
    if (!isKnown) onUnauthorized();
    return isKnown;
  };
}

/**
 * A page of any site can reach the ports of the machine that shows it. Browsers then send Origin (RFC 6454) or
 * Sec-Fetch-Site (w3.org/TR/fetch-metadata), and other callers send neither. Pages of `ownOrigin` are no foreign ones.
 */
export function isFromWebPage(headers: IncomingHttpHeaders, ownOrigin?: string): boolean {
  const { origin, 'sec-fetch-site': site = 'none' } = headers;
  const isForeign = origin !== undefined && origin !== ownOrigin;
  return isForeign || !['none', 'same-origin'].includes(site);
}
