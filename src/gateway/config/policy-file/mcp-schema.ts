/** Which calls to an MCP server a policy is for. */
import { z } from 'zod';
import { WITHOUT_HEADERS } from '../../core/mcp/mcp-call.ts';
import type { McpMatch } from '../../core/mcp/mcp-calls.ts';
import { checkedText } from '../refinement.ts';

const LONGEST = 1_024;
const METHOD_PATTERN =
  /^([a-z][A-Za-z0-9_-]*\/)*([a-z][A-Za-z0-9_-]*|\*)$|^[a-z][A-Za-z0-9_/-]*\*$/;

/** Returns the method. Throws a RangeError whose message gives the right form. */
function checkMethod(text: string): string {
  if (text.length <= LONGEST && METHOD_PATTERN.test(text)) return text;
  throw new RangeError(
    'must be a method of MCP, such as tools/call, a beginning such as notifications/*, or none',
  );
}

/** Returns the name. Throws a RangeError whose message gives the right form. */
function checkName(text: string): string {
  const isShort = Buffer.byteLength(text) <= LONGEST;
  if (text !== '' && isShort && !text.slice(0, -1).includes('*')) return text;
  throw new RangeError(
    `must be a name such as search, or a beginning such as search_*, of at most ${LONGEST} bytes`,
  );
}

const method = checkedText(checkMethod, {
  title: 'method of MCP',
  examples: ['tools/call', 'notifications/*', 'none'],
});
const name = checkedText(checkName, { title: 'name', examples: ['search', 'search_*'] });

const listOf = (item: typeof method) =>
  z
    .array(item)
    .min(1)
    .max(64)
    .refine((list) => new Set(list).size === list.length, 'has one of them twice, remove it');

export const mcpSchema = z
  .strictObject({
    method: z
      .union([method, listOf(method)], 'must be a method such as tools/call, or a list of them')
      .optional()
      .describe(
        'A method of MCP, a beginning such as "notifications/*", or a list of them. none: requests whose headers do not say it, or that no server compares with the body.',
      ),
    name: z
      .union([name, listOf(name)], 'must be a name such as search, or a list of them')
      .optional()
      .describe('A tool, prompt or resource, a beginning such as "search_*", or a list of them.'),
    none: z
      .enum(['strict'])
      .optional()
      .describe(
        'strict: requests of the method none count for every policy of a tool of this path, too.',
      ),
  })
  .refine(({ method: written, none }) => written !== undefined || none !== undefined, {
    path: ['method'],
    message: 'is missing, write which calls this policy is for, as in "method: tools/call"',
  })
  .refine(({ method: written = WITHOUT_HEADERS, none }) => !none || written === WITHOUT_HEADERS, {
    path: ['none'],
    message:
      'belongs to a policy with "method: none", which counts for the tools then, too: move it there',
  })
  .refine(
    ({ method: written = [], name: names, none }) =>
      names === undefined || (!none && ![written].flat().includes(WITHOUT_HEADERS)),
    { path: ['name'], message: 'is not known for requests of the method none, remove it' },
  )
  .describe('Calls to an MCP server by POST, as their headers say (MCP 2026-07-28).');

/** One for each method and name. */
export function mcpMatches({
  method: written = WITHOUT_HEADERS,
  name: names,
  none,
}: z.output<typeof mcpSchema>): McpMatch[] {
  const isStrict = none === 'strict';
  return [written]
    .flat()
    .flatMap((each) => [names].flat().map((called) => ({ method: each, name: called, isStrict })));
}
