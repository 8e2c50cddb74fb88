/** The parts of deploy/envoy/mcp.yaml, with which the headers of MCP calls say what the body says. */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { mapsWith } from '../yaml.ts';
import { type Filter, filtersBefore, type Manager, readEnvoyFile } from './config.ts';
import { PER_FILTER } from './route.ts';

const FILE = new URL('../../../../../deploy/envoy/mcp.yaml', import.meta.url);

/** Whether the manager has them all, unchanged but for the size of bodies. Its own filters may stand between them. */
export function hasMcpParts(manager: Manager): boolean {
  if (!manager.filters.some(isMcpPart)) return false;
  const { managers } = readEnvoyFile('', readFileSync(FILE, 'utf8'));
  return managers.some((shipped) => isDeepStrictEqual(partsOf(manager), partsOf(shipped)));
}

export function isMcpPart({ name }: Pick<Filter, 'name'>): boolean {
  return /^headgate\.(one_)?mcp/.test(name);
}

/** The filters, and each setting that routes have for them, once. */
function partsOf(manager: Manager) {
  const settings = mapsWith(manager.map, PER_FILTER)
    .map((level) => Object.entries(level[PER_FILTER] ?? {}).filter(([name]) => isMcpPart({ name })))
    .filter(({ length }) => length > 0)
    .map((each) => JSON.stringify(each.toSorted(), withoutSize));
  return [
    filtersBefore(manager)
      .filter(isMcpPart)
      .map(({ map }) => map),
    new Set(settings),
  ];
}

function withoutSize(key: string, value: unknown) {
  return key === 'max_request_body_size' ? undefined : value;
}
