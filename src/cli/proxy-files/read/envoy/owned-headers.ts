/** Which headers of clients Envoy removes or overwrites before it asks headgate, whatever the request. */
import { MCP_METHOD, MCP_NAME } from '../../../../gateway/core/mcp/mcp-call.ts';
import { at, listAt, textAt } from '../yaml.ts';
import { type Filter, filtersBefore, type Manager } from './config.ts';

/** In lower case: those that the filters of each manager own. */
export function ownedBefore(managers: readonly Manager[]): string[] {
  const [first = [], ...others] = managers.map((manager) =>
    filtersBefore(manager)
      .filter(({ map, isConditional }) => !isConditional && at(map, 'disabled') !== true)
      .flatMap(ownedBy),
  );
  return first.filter((name) => others.every((names) => names.includes(name)));
}

/**
 * A filter that reads tokens is not among them: it leaves the header of the client as it is where no rule asks for a
 * token.
 */
function ownedBy({ config }: Filter): string[] {
  const mutations = listAt(config, 'mutations', 'request_mutations').map(mutatedHeader);
  const script = textAt(config, 'default_source_code', 'inline_string') ?? '';
  const scripted = [...script.matchAll(SCRIPTED)].map(([, name]) => name);
  const compared = isMcpFilter(config) ? [MCP_METHOD, MCP_NAME] : [];
  return [...mutations, ...scripted, ...compared].flatMap((name) => name?.toLowerCase() ?? []);
}

/** It refuses calls whose headers and body differ. */
function isMcpFilter(config: unknown): boolean {
  const isMcp = /\.filters\.http\.mcp\.v\w+\.Mcp$/.test(textAt(config, '@type') ?? '');
  return isMcp && textAt(config, 'attribute_source') === 'VERIFY';
}

/** A script that does it under a condition counts, too: what a script does cannot be read. */
const SCRIPTED = /:(?:remove|replace)\(\s*["']([\w-]+)["']/g;

function mutatedHeader(mutation: unknown): string | undefined {
  const overwrites = textAt(mutation, 'append', 'append_action') === 'OVERWRITE_IF_EXISTS_OR_ADD';
  return overwrites ? textAt(mutation, 'append', 'header', 'key') : textAt(mutation, 'remove');
}
