/** What the headers of a call say, and why it counts as one without headers: for `explain`. */
import type { HeaderFields } from '../check-request.ts';
import { fieldOf } from '../identity/header-value.ts';
import {
  COMPARED_SINCE,
  MALFORMED,
  MCP_METHOD,
  MCP_NAME,
  MCP_VERSION,
  malformedText,
  methodOf,
  nameOf,
} from './mcp-call.ts';

export type CallReading =
  /** `name` is undefined if there is none, or if no policy of the method tells names apart. */
  | { readonly method: string; readonly name: string | undefined }
  | { readonly without: string }
  | { readonly malformed: string };

interface Named {
  readonly isRead: boolean;
  readonly isRequired: boolean;
}

export function readCall(
  headers: HeaderFields,
  isVouched: boolean,
  namedBy: (method: string) => Named,
): CallReading {
  const method = methodOf(headers, isVouched);
  if (method === MALFORMED) return { malformed: malformedText(headers, MCP_METHOD) };
  if (method === undefined) return { without: whyWithout(headers) };
  const { isRead, isRequired } = namedBy(method);
  if (!isRead) return { method, name: undefined };
  const name = nameOf(headers);
  if (name === MALFORMED) return { malformed: malformedText(headers, MCP_NAME) };
  if (name === undefined && isRequired) return { without: `${method} needs ${MCP_NAME}` };
  return { method, name };
}

function whyWithout(headers: HeaderFields): string {
  if (!fieldOf(headers, MCP_METHOD)) return `${MCP_METHOD} was not sent`;
  const version = fieldOf(headers, MCP_VERSION);
  const what = version ? `is ${[version].flat().join(', ')}` : 'was not sent';
  return `${MCP_VERSION} ${what}, so no server compares the headers with the body; servers do from ${COMPARED_SINCE} on, or a trusted proxy vouches for them (identity.verified_headers)`;
}
