/** Denials for another reason than a limit: no wait helps. */
import type { Decision } from '../../core/counting/decision.ts';

interface Refusal {
  readonly title: string;
  readonly message: string;
  readonly jsonRpcCode: number;
  /** The type of the error in the API of OpenAI. */
  readonly openAiType: string;
}

/** JSON-RPC 2.0, section 5.1: Invalid Request. It has no code for a client that may not call. */
const INVALID_REQUEST = -32_600;
/** MCP 2026-07-28, "Server Validation": HeaderMismatch, also for headers with characters that are not allowed. */
const HEADER_MISMATCH = -32_020;

const BAD_REQUEST = {
  title: 'Bad Request',
  jsonRpcCode: INVALID_REQUEST,
  openAiType: 'invalid_request_error',
};

export const REFUSALS: Partial<Record<Decision['reason'], Refusal>> = {
  malformed_path: {
    ...BAD_REQUEST,
    message: 'The request path contains control characters or is ambiguous.',
  },
  malformed_host: {
    ...BAD_REQUEST,
    message: 'The host is not a name or address with an optional port.',
  },
  malformed_mcp: {
    ...BAD_REQUEST,
    jsonRpcCode: HEADER_MISMATCH,
    message:
      'A header of the MCP call has several values, is too long, or is not encoded as MCP requires.',
  },
  ambiguous_identity: {
    ...BAD_REQUEST,
    message:
      'A header that identifies the client has several values, blanks around its value, or more than 8,192 bytes.',
  },
  blocked: {
    title: 'Forbidden',
    message: 'This client is blocked.',
    jsonRpcCode: INVALID_REQUEST,
    openAiType: 'request_forbidden',
  },
};
