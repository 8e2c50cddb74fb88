/** Which requests should have a header of MCP: only some clients send it, and only with calls. */
import type { CheckRequest } from '../check-request.ts';
import { isCompared, MCP_METHOD, MCP_NAME, methodOf, NAMED_METHODS } from './mcp-call.ts';

/** Whether policies for MCP calls have the path of the request. */
export type IsMcp = (request: CheckRequest) => boolean;

/**
 * Clients have sent the version with calls since revision 2025-06-18. Those that say 2026-07-28 must send the method, and
 * the name with some methods. Which path it is comes last, because it takes longest to find out.
 */
export function callsHaving(header: string): (request: CheckRequest, isMcp: IsMcp) => boolean {
  const hasOthers = OTHERS[header] ?? (() => true);
  return (request, isMcp) => request.method === 'POST' && hasOthers(request) && isMcp(request);
}

const OTHERS: Readonly<Record<string, (request: CheckRequest) => boolean>> = {
  [MCP_METHOD]: ({ headers }) => isCompared(headers),
  [MCP_NAME]: ({ headers }) => NAMED_METHODS.has(methodOf(headers, false)),
};
