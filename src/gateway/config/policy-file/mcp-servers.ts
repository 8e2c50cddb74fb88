/** The MCP servers that a policy file names: policies for MCP calls with the same host and path belong to one. */
import { placeKey } from '../../core/matching/matcher.ts';
import { MAX_APPLIED } from '../../core/matching/policies-for.ts';
import { WITHOUT_HEADERS } from '../../core/mcp/mcp-call.ts';
import { isForTools, type McpMatch } from '../../core/mcp/mcp-calls.ts';
import type { DiagnosticDraft } from '../diagnostic.ts';
import { routesOf } from './match.ts';
import type { PolicyEntry, Sections } from './valid-file.ts';

type McpServer = ReturnType<typeof mcpServers>[number];

export function mcpServers(entries: readonly PolicyEntry[], caseSensitive: boolean) {
  const all = entries.flatMap((entry, index) => {
    const routes = entry.match?.mcp ? routesOf(entry, caseSensitive) : [];
    return routes.map((route) => ({ ...route, mcp: route.match.mcp as McpMatch, entry, index }));
  });
  return [...Map.groupBy(all, ({ match }) => placeKey(match)).values()].map((calls) => {
    const bare = calls.find(({ mcp }) => mcp.method === WITHOUT_HEADERS);
    const tools = new Set(calls.filter(isForTools).map(({ entry }) => entry));
    const isStrict = bare?.mcp.isStrict === true;
    /** The policies for which a call without headers counts. */
    const withoutHeaders = new Set([...(bare ? [bare.entry] : []), ...(isStrict ? tools : [])]);
    return { calls, bare, tools, isStrict, withoutHeaders };
  });
}

export function* mcpMistakes({ entries, names, caseSensitive }: Sections) {
  const valid = entries.filter((entry) => entry !== undefined);
  // A policy with mistakes may be the one for calls without headers.
  if (valid.length < entries.length) return;
  const taken = new Set(names);
  for (const server of mcpServers(valid, caseSensitive)) {
    const { bare, withoutHeaders } = server;
    if (bare === undefined) yield withoutNone(server, taken);
    else if (withoutHeaders.size > MAX_APPLIED) {
      const message = `a call to ${bare.written} without headers would count for ${withoutHeaders.size} policies, the maximum is ${MAX_APPLIED}: list several names in one policy, or write "method: none" in place of "none: strict"`;
      const path = ['policies', bare.index, 'match', 'mcp', 'none'];
      yield { rule: 'invalid-value' as const, path, message };
    }
  }
}

/** Adds the name that it suggests to `taken`. */
function withoutNone({ calls }: McpServer, taken: Set<unknown>): DiagnosticDraft {
  const [{ index, entry, written = '', at }] = calls as [McpServer['calls'][number]];
  let name = 'mcp-none';
  for (let number = 2; taken.has(name); number++) name = `mcp-none-${number}`;
  taken.add(name);
  const host = entry.match?.host ? `host: ${JSON.stringify(entry.match.host)}, ` : '';
  const match = `{ ${host}path: ${JSON.stringify(written)}, mcp: { method: ${WITHOUT_HEADERS} } }`;
  const line = `- { name: ${name}, match: ${match}, limits: [${lowestRate(calls)}] }`;
  const message = `no policy is for calls to ${written} whose headers do not say what they are, as those of clients before MCP 2026-07-28, add: ${line}`;
  return { rule: 'mcp-without-none', path: ['policies', index, ...at], message };
}

/** In requests of one client. */
function lowestRate(calls: McpServer['calls']): string {
  const rates = calls.flatMap(({ entry: { limits, cost } }) =>
    limits
      .filter(({ per, unit }) => per !== 'global' && unit === undefined)
      .map(({ rate }) => ({ ...rate, most: Math.max(1, Math.floor(rate.limit / cost)) })),
  );
  const [lowest] = rates.sort((a, b) => a.most / a.windowMs - b.most / b.windowMs);
  return lowest === undefined ? '60/1min' : `${lowest.most}/${lowest.window}`;
}
