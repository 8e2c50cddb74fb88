import type { Diagnostic } from '../../gateway/config/diagnostic.ts';
import { found } from './catalog.ts';

/** Each client of a busy proxy needs a connection. */
const ENOUGH_FILES = 4_096;

export function machineFindings(): Diagnostic[] {
  const node = found('node', 'Node', `${process.versions.node}, ${process.execPath}`);
  const limit = openFiles();
  if (limit === undefined) return [node];
  const written = Number.isFinite(limit) ? String(limit) : 'any number';
  if (limit >= ENOUGH_FILES)
    return [node, found('open-files', 'open files', `${written} of them at once`)];
  const problem = `at most ${written}; ${ENOUGH_FILES} or more are needed under load`;
  return [node, found('low-open-files', 'open files', problem)];
}

/** Returns the soft limit: infinity if there is no limit, undefined if the system does not say. */
function openFiles(): number | undefined {
  const { report } = process;
  // Without this, the report asks the name server about every connection. The types do not know it yet.
  Object.assign(report, { excludeNetwork: true });
  const { userLimits } = report.getReport() as {
    userLimits?: { open_files?: { soft?: number | 'unlimited' } };
  };
  const soft = userLimits?.open_files?.soft;
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : soft;
}
