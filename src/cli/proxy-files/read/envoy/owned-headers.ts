/** Which headers of clients Envoy removes or overwrites before it asks headgate, whatever the request. */
import { MCP_METHOD, MCP_NAME } from '../../../../gateway/core/mcp/mcp-call.ts';
import { at, listAt, mapsWith, textAt } from '../yaml.ts';
import { type Filter, filtersBefore, type Manager } from './config.ts';
import { hasMcpParts, isMcpPart } from './mcp-parts.ts';
import { PER_FILTER, settingsOf } from './route.ts';

/** In lower case: those that the filters of each manager own. */
export function ownedBefore(managers: readonly Manager[]): string[] {
  const [first = [], ...others] = managers.map(ownedIn);
  return first.filter((name) => others.every((names) => names.includes(name)));
}

function ownedIn(manager: Manager): string[] {
  const settings = mapsWith(manager.map, PER_FILTER).flatMap(settingsOf);
  const isOff = ({ map, name }: Filter) =>
    at(map, 'disabled') === true || settings.some(({ filter, isOff }) => isOff && filter === name);
  const own = filtersBefore(manager)
    .filter((filter) => !filter.isConditional && !isOff(filter) && !isMcpPart(filter))
    .flatMap(ownedBy);
  return hasMcpParts(manager) ? [...own, MCP_METHOD, MCP_NAME] : own;
}

/**
 * A filter that reads tokens is not among them: it leaves the header of the client as it is where no rule asks for a
 * token.
 */
function ownedBy({ config }: Filter): string[] {
  const mutations = listAt(config, 'mutations', 'request_mutations').map(mutatedHeader);
  const script = textAt(config, 'default_source_code', 'inline_string') ?? '';
  const scripted = [...script.matchAll(SCRIPTED)].map(([, name]) => name);
  return [...mutations, ...scripted].flatMap((name) => name?.toLowerCase() ?? []);
}

/** A script that does it under a condition counts, too: what a script does cannot be read. */
const SCRIPTED = /:(?:remove|replace)\(\s*["']([\w-]+)["']/g;

function mutatedHeader(mutation: unknown): string | undefined {
  const overwrites = textAt(mutation, 'append', 'append_action') === 'OVERWRITE_IF_EXISTS_OR_ADD';
  return overwrites ? textAt(mutation, 'append', 'header', 'key') : textAt(mutation, 'remove');
}
