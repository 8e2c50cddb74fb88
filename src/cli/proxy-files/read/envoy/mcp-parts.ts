/** The parts of deploy/envoy/mcp.yaml, with which the headers of MCP calls say what the body says. */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { isMap } from '../yaml.ts';
import { type Filter, filtersBefore, type Manager, readEnvoyFile } from './config.ts';
import { levelsOf, perFilter } from './route.ts';

const FILE = new URL('../../../../../deploy/envoy/mcp.yaml', import.meta.url);

/** Whether the manager has them all, unchanged but for the size of bodies. Its own filters may stand between them. */
export function hasMcpParts(manager: Manager): boolean {
  // Routes that come from elsewhere may switch filters off.
  if (manager.hosts.length === 0 || !manager.filters.some(isMcpPart)) return false;
  const shipped = readEnvoyFile('', readFileSync(FILE, 'utf8')).checked.map(partsOf)[0];
  const own = partsOf(manager);
  return (
    isDeepStrictEqual(own.filters, shipped?.filters) &&
    own.routes.every((each) => isDeepStrictEqual(each, shipped?.routes[0]))
  );
}

const IS_PART = /^headgate\.(?:one_)?mcp/;

export function isMcpPart({ name }: Filter): boolean {
  return IS_PART.test(name);
}

function partsOf(manager: Manager) {
  const filters = filtersBefore(manager).filter(isMcpPart);
  const routes = levelsOf(manager).map((level) =>
    perFilter(level)
      .filter(([name]) => IS_PART.test(name))
      .map(([name, setting]) => [name, withoutSize(setting)] as const),
  );
  return {
    filters: filters.map(({ map }) => map),
    routes: routes.filter(({ length }) => length > 0).map((settings) => new Map(settings)),
  };
}

function withoutSize(setting: unknown) {
  return isMap(setting) ? { ...setting, max_request_body_size: undefined } : setting;
}
