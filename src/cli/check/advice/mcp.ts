/** Advice on policies for calls to MCP servers. */
import { hint } from '../../../gateway/config/closest-word.ts';
import type { DiagnosticDraft } from '../../../gateway/config/diagnostic.ts';
import { mcpServers } from '../../../gateway/config/policy-file/mcp-servers.ts';
import type { PolicyEntry, ValidFile } from '../../../gateway/config/policy-file/valid-file.ts';
import type { PolicySet } from '../../../gateway/core/matching/policy-set.ts';
import { strictestOf } from '../../../gateway/core/matching/strictest.ts';
import { MCP_METHOD, MCP_NAME, WITHOUT_HEADERS } from '../../../gateway/core/mcp/mcp-call.ts';

export function adviceOnMcp(file: ValidFile, { policies }: PolicySet): DiagnosticDraft[] {
  const servers = mcpServers(file.entries, file.caseSensitive);
  if (servers.length === 0) return [];
  const byName = new Map(policies.map((policy) => [policy.name, policy]));
  const lax = servers.flatMap(({ bare, tools, isStrict }): DiagnosticDraft[] => {
    if (bare === undefined || isStrict) return [];
    const [own, ...others] = [bare.entry, ...tools].flatMap(({ name }) => byName.get(name) ?? []);
    const strictest = own && strictestOf([own, ...others]);
    if (strictest === own || strictest === undefined) return [];
    const message = `allows more than the policy ${strictest.name}, so clients get more calls by leaving out the headers: lower it, or write "mcp: { none: strict }"`;
    return [{ rule: 'mcp-none-lax', path: ['policies', bare.index, 'limits'], message }];
  });
  return [...lax, ...file.entries.flatMap(unknownMethods), ...halfVerified(file)];
}

/** What clients send by POST, from the schemas of 2024-11-05 to 2026-07-28, and of tasks (SEP-2663). */
const METHODS =
  `completion/complete initialize logging/setLevel notifications/cancelled notifications/initialized
  notifications/progress notifications/roots/list_changed notifications/tasks/status ping prompts/get
  prompts/list resources/list resources/read resources/subscribe resources/templates/list
  resources/unsubscribe server/discover subscriptions/listen tasks/cancel tasks/get tasks/list
  tasks/result tasks/update tools/call tools/list`.split(/\s+/);
const KNOWN = [...METHODS, ...METHODS.map((each) => each.replace(/\/.*/, '/*'))];

function unknownMethods({ match }: PolicyEntry, index: number): DiagnosticDraft[] {
  const written = match?.mcp?.method ?? [];
  const at = ['policies', index, 'match', 'mcp', 'method'];
  return [written].flat().flatMap((method, i) => {
    const beginning = method.endsWith('*') ? method.slice(0, -1) : method;
    const isMeant = (each: string) =>
      each === method || (beginning !== method && each.startsWith(beginning));
    if (method === WITHOUT_HEADERS || METHODS.some(isMeant)) return [];
    const message = `clients of MCP do not send ${method}${hint(method, KNOWN)}`;
    return [
      { rule: 'mcp-method-unknown', path: Array.isArray(written) ? [...at, i] : at, message },
    ];
  });
}

function halfVerified({ identity: { verified_headers: verified } }: ValidFile): DiagnosticDraft[] {
  const [one, other] = [MCP_METHOD, MCP_NAME].filter((name) => verified.includes(name));
  if (one === undefined || other !== undefined) return [];
  const path = ['identity', 'verified_headers', verified.indexOf(one)];
  const message = `${one} alone has no effect on policies for MCP calls: list mcp-method and mcp-name if the proxy compares both with the body of every call, or remove it`;
  return [{ rule: 'mcp-half-verified', path, message }];
}
