/**
 * The policies of one MCP endpoint. The method of a call decides first, then its name: an exact one before a beginning, and
 * the longest beginning first.
 */
import type { HeaderFields } from '../check-request.ts';
import {
  MALFORMED,
  MCP_METHOD,
  MCP_NAME,
  type McpValue,
  malformedText,
  methodOf,
  NAMED_METHODS,
  nameOf,
  WITHOUT_HEADERS,
  whyWithout,
} from './mcp-call.ts';

/** Texts may end with `*`: they match what begins so. */
export interface McpMatch {
  /** `none`: calls without headers. */
  readonly method: string;
  /** Of the tool, prompt or resource. Undefined means any. */
  readonly name?: string | undefined;
  /** Calls without headers count for the policies of tools, too. */
  readonly isStrict?: boolean | undefined;
}

export interface McpRoute<T> {
  readonly mcp: McpMatch;
  readonly value: T;
}

/**
 * Empty if no policy is for the call: then the others of its path apply. Undefined if its headers are malformed. `tell`
 * gets a sentence about the call.
 */
export type McpCalls<T> = (
  headers: HeaderFields,
  isVouched: boolean,
  tell?: (what: string) => void,
) => readonly T[] | undefined;

const TOOL_CALL = 'tools/call';

export function compileMcpCalls<T>(routes: readonly McpRoute<T>[]): McpCalls<T> {
  const bare = routes.filter(({ mcp }) => mcp.method === WITHOUT_HEADERS);
  const sent = routes.filter(({ mcp }) => mcp.method !== WITHOUT_HEADERS);
  const isStrict = bare.some(({ mcp }) => mcp.isStrict);
  const asNone = isStrict ? [...bare, ...sent.filter(isForTools)] : bare;
  const withoutHeaders = [...new Set(asNone.map(({ value }) => value))];
  const byMethod = compileTexts(
    [...Map.groupBy(sent, ({ mcp }) => mcp.method)].map(([method, own]) => ({
      text: method,
      value: compileNames(own),
    })),
  );
  return (headers, isVouched, tell) => {
    const method = methodOf(headers, isVouched);
    const candidates = typeof method === 'string' ? byMethod(method) : NOTHING;
    const name = candidates.some(({ readsName }) => readsName) ? nameOf(headers) : ANY_NAME;
    tell?.(sentence(headers, method, name));
    if (method === MALFORMED || name === MALFORMED) return undefined;
    if (method === undefined || lacksName(method, name)) return withoutHeaders;
    for (const candidate of candidates) {
      const found = candidate.of(name ?? ANY_NAME);
      if (found !== undefined) return found;
    }
    return NOTHING;
  };
}

/** What `explain` says of a call. */
function sentence(headers: HeaderFields, method: McpValue, name: McpValue): string {
  if (method === MALFORMED) return malformedText(headers, MCP_METHOD);
  if (name === MALFORMED) return malformedText(headers, MCP_NAME);
  if (method === undefined) return `${COUNTS_AS_NONE}: ${whyWithout(headers)}`;
  if (lacksName(method, name)) return `${COUNTS_AS_NONE}: ${method} needs ${MCP_NAME}`;
  return callText({ method, name: name && JSON.stringify(name) });
}

function lacksName(method: string, name: McpValue): boolean {
  return name === undefined && NAMED_METHODS.has(method);
}

const COUNTS_AS_NONE = 'it counts as a call without headers (none)';
/** No name that a header has. */
const ANY_NAME = '';
const NOTHING: readonly never[] = [];

/** `tools/call search_*` */
export function callText({ method, name }: McpMatch): string {
  return name ? `${method} ${name}` : method;
}

/** Whether calls of tools may be among those of the policy. */
export function isForTools({ mcp: { method } }: Pick<McpRoute<unknown>, 'mcp'>): boolean {
  return isBeginning(method) ? TOOL_CALL.startsWith(method.slice(0, -1)) : method === TOOL_CALL;
}

function compileNames<T>(routes: readonly McpRoute<T>[]) {
  const find = compileTexts(
    routes.map(({ mcp, value }) => ({ text: mcp.name ?? '*', value: [value] as const })),
  );
  return {
    readsName: routes.some(({ mcp }) => mcp.name !== undefined),
    of: (name: string): readonly T[] | undefined => find(name)[0],
  };
}

const isBeginning = (text: string) => text.endsWith('*');

/** Finds the values whose texts match, the closest first. */
function compileTexts<V>(texts: readonly { readonly text: string; readonly value: V }[]) {
  const exact = new Map(
    texts.filter(({ text }) => !isBeginning(text)).map(({ text, value }) => [text, value]),
  );
  const beginnings = texts
    .filter(({ text }) => isBeginning(text))
    .map(({ text, value }) => ({ text: text.slice(0, -1), value }))
    .sort((a, b) => b.text.length - a.text.length);
  return (sought: string): readonly V[] => {
    const found: V[] = [];
    const same = exact.get(sought);
    if (same !== undefined) found.push(same);
    for (const { text, value } of beginnings) if (sought.startsWith(text)) found.push(value);
    return found;
  };
}
