import { domainToASCII } from 'node:url';
import { z } from 'zod';
import type { RouteMatch } from '../../core/matching/matcher.ts';
import type { Path } from '../diagnostic.ts';
import { checkedText } from '../refinement.ts';
import { mcpMatches, mcpSchema } from './mcp-schema.ts';
import { checkPathTemplate, literalPath } from './path-template.ts';

export const METHOD_PATTERN = /^[A-Z]+(-[A-Z]+)*$/;
const LONGEST_METHOD = 64;
const EVERY_METHOD = /^(any|all|\*|\.\*)$/i;
const SEVERAL = /^[\^(]*[a-z-]+(\s*[|,/\s]\s*[a-z-]+)*[)$]*$/i;
const METHOD_FORM = 'must be an upper-case method, such as POST';

/** Returns the method. Throws a RangeError whose message gives the right form. */
export function checkMethodName(text: string): string {
  if (text.length > LONGEST_METHOD) throw new RangeError(METHOD_FORM);
  if (EVERY_METHOD.test(text)) {
    throw new RangeError(`"${text}" means every method: leave out "method"`);
  }
  if (METHOD_PATTERN.test(text)) return text;
  const meant = SEVERAL.test(text.trim()) ? (text.toUpperCase().match(/[A-Z-]+/g) ?? []) : [];
  if (meant.length === 0 || !meant.every((each) => METHOD_PATTERN.test(each))) {
    throw new RangeError(METHOD_FORM);
  }
  const remedy = meant.length === 1 ? meant[0] : `[${meant.join(', ')}]`;
  throw new RangeError(`"${text}" ${METHOD_FORM}: write ${remedy}`);
}

const HOST_PATTERN = /^(\*\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
/** The limit of DNS names in text form (RFC 1035, section 2.3.4). */
const LONGEST_HOST = 253;
const HOST_FORM = 'write a lower-case host name, such as api.example.com or *.example.com';

/** Returns the host. Throws a RangeError whose message gives the right form. */
export function checkHostTemplate(text: string): string {
  if (text.length > LONGEST_HOST) {
    throw new RangeError(`must have at most ${LONGEST_HOST} characters`);
  }
  if (HOST_PATTERN.test(text)) return text;
  if (EVERY_HOST.test(text)) throw new RangeError(`"${text}" means every host: leave out "host"`);
  const meant = meantBy(text);
  const hosts = meant.map((each) => `"${each}"`).join(' and ');
  const remedy = !meant.every((each) => HOST_PATTERN.test(each))
    ? HOST_FORM
    : meant.length === 1
      ? `write ${hosts}`
      : `write one policy for each of ${hosts}`;
  throw new RangeError(`"${text}" ${problemOf(text)}: ${remedy}`);
}

const EVERY_HOST = /^(\*+|\.[*+])(\.\*+)*$/;
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\//i;
const PATTERN = /[{}()<>$^+*\\?|~]|\[(?!.*:)/;

function problemOf(text: string): string {
  if (ORIGIN.test(text)) return 'has a scheme';
  if (/\s|,/.test(text.trim())) return 'is not a single host';
  if (PATTERN.test(text)) return 'has a pattern other than "*." at its start';
  if (text.includes('/')) return 'has a path';
  if (/:\d*$/.test(text)) return 'has a port';
  return /[A-Z]/.test(text) ? 'has upper-case letters' : 'is not a host name';
}

function meantBy(text: string): string[] {
  const written = text
    .trim()
    .replace(ORIGIN, '')
    .replace(/^~?\^|\$$/g, '');
  const bare = written.replaceAll('\\.', '.').replace(/[/:].*$/, '');
  return bare.split(/[|,\s]+/).map((each) => {
    const ascii = /[^\x21-\x7e]/.test(each) ? domainToASCII(each) : each.toLowerCase();
    const name = ascii.replace(/\.$/, '').replaceAll('[^.]', '*');
    // Some servers write all hosts of a domain with a pattern, or nothing, in place of the first labels.
    const labels = name.split('.');
    const first = labels.findIndex((label) => label !== '' && !PATTERN.test(label));
    // `*example.com`: the rest of the label is a name.
    const glued = /^\*+([a-z0-9-]+)$/.exec(labels[0] ?? '')?.[1];
    if (glued !== undefined) return `*.${[glued, ...labels.slice(1)].join('.')}`;
    // Nobody means all hosts of a top-level domain.
    if (first > 0 && labels.length - first === 1) return '';
    return first <= 0 ? name : `*.${labels.slice(first).join('.')}`;
  });
}

const method = checkedText(checkMethodName, {
  title: 'upper-case method',
  pattern: METHOD_PATTERN.source,
  examples: ['POST'],
});

const host = checkedText(checkHostTemplate, {
  title: 'lower-case host',
  pattern: HOST_PATTERN.source,
  examples: ['api.example.com', '*.example.com'],
});

const path = checkedText(checkPathTemplate, {
  title: 'path',
  examples: ['/api/auth/login', '/users/:id', '/static/*'],
});

const MAX_PATHS = 64;
const MAX_ROUTES = 1_024;

export const matchSchema = z
  .strictObject({
    method: z
      .union([method, z.array(method).min(1)], 'must be a method such as POST, or a list of them')
      .optional()
      .describe('A method, or a list of methods.'),
    host: host.optional().describe('The host, without a port.'),
    path: z
      .union(
        [path, z.array(path).min(1).max(MAX_PATHS)],
        'must be a path such as /search, or a list of them',
      )
      .optional()
      .describe(
        'A path, or a list of paths that share the counters of the policy. A segment may be ":name", and the last one "*".',
      ),
    mcp: mcpSchema.optional(),
  })
  .refine((value) => Object.keys(value).length > 0, 'must name a method, a host or a path')
  .refine(({ path: all, mcp }) => !mcp || [all].flat().every((each) => /[^*]$/.test(each ?? '')), {
    path: ['path'],
    message: 'must be the path of an MCP server, without "*", as in "path: /mcp"',
  })
  .refine(
    ({ method: all, mcp }) => !mcp || [all].flat().every((each = 'POST') => each === 'POST'),
    {
      path: ['method'],
      message: 'must be POST, by which clients call an MCP server: remove it',
    },
  )
  .refine(
    ({ path: all, mcp }) => !mcp || [all].flat().length * mcpMatches(mcp).length <= MAX_ROUTES,
    {
      path: ['mcp'],
      message: `must not have more than ${MAX_ROUTES} combinations of path, method and name: split the policy`,
    },
  )
  .transform((value) => (value.mcp ? { ...value, method: 'POST' } : value));

interface Matching {
  readonly match?: z.output<typeof matchSchema> | undefined;
}

export interface WrittenRoute {
  readonly match: RouteMatch;
  /** The path as the file has it. Undefined for a policy of every path. */
  readonly written: string | undefined;
  /** Where the path stands, from its policy on. */
  readonly at: Path;
  readonly isInList: boolean;
}

/** One for each path. They do not tell calls to an MCP server apart. */
export function pathRoutesOf({ match }: Matching, caseSensitive: boolean): WrittenRoute[] {
  return routesOf({ match: { ...match, mcp: undefined } }, caseSensitive);
}

/** The routes of a policy: one for each of its paths and MCP calls, or a single one without a path. */
export function routesOf({ match = {} }: Matching, caseSensitive: boolean): WrittenRoute[] {
  const { method, host, path, mcp } = match;
  const methods = method === undefined ? undefined : [method].flat();
  const calls = mcp === undefined ? [undefined] : mcpMatches(mcp);
  const isInList = Array.isArray(path);
  return [path].flat().flatMap((written, i) => {
    const literal = written === undefined ? undefined : literalPath(written);
    const compared = caseSensitive ? literal : literal?.toLowerCase();
    const at = isInList ? ['match', 'path', i] : ['match', 'path'];
    return calls.map((call) => ({
      match: { methods, host, path: compared, mcp: call },
      ...{ written, at, isInList },
    }));
  });
}
