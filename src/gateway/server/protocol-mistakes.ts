/** Requests that Node accepts and RFC 9112 has a server refuse. A proxy could read them differently than headgate. */
import type { IncomingMessage } from 'node:http';
import { isHost } from '../core/matching/host.ts';

/**
 * No client sends so many, and Envoy (100) and HAProxy (101) let fewer through. The limit bounds the work for one
 * request: Node takes 6 ms for as many header lines as fit into 64 KiB.
 */
export const MAX_HEADERS = 256;

export interface ProtocolMistake {
  /** If it is undefined, the answer has the status for bad requests that the proxy passes on. */
  readonly status: 431 | undefined;
  readonly message: string;
}

type Received = Pick<IncomingMessage, 'httpVersionMajor' | 'headers' | 'rawHeaders'>;

export function protocolMistake(received: Received): ProtocolMistake | undefined {
  const { httpVersionMajor, headers, rawHeaders } = received;
  if (rawHeaders.length > 2 * MAX_HEADERS) {
    return { status: 431, message: `A request can have at most ${MAX_HEADERS} headers.` };
  }
  if (httpVersionMajor !== 1) return mistake('Use HTTP/1.0 or HTTP/1.1.');
  // Section 3.2. Two hosts are joined by a comma.
  if (headers.host !== undefined && !isHost(headers.host)) {
    return mistake('Host must be one name or address with an optional port.');
  }
  // Section 6.3.
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && !/(^|,)[ \t]*chunked$/i.test(coding)) {
    return mistake('The last transfer coding must be chunked.');
  }
  return undefined;
}

function mistake(message: string): ProtocolMistake {
  return { status: undefined, message };
}
