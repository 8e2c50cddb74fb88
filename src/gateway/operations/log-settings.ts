import { LOG_SUBJECTS, type Override } from '../stores/overrides/override.ts';
import { audited, putInForce, termsOf } from './changes.ts';
import { OperationError } from './operation-error.ts';
import type { Input, Output } from './operation-table.ts';
import type { Gateway } from './running-gateway.ts';
import type { OverrideReport } from './schemas/overrides.ts';

export async function setLog(
  gateway: Gateway,
  { level, allows_one_in: oneIn, ...written }: Input<'setLog'>,
): Promise<Output<'listOverrides'>> {
  const terms = termsOf(written, gateway.now());
  const made: OverrideReport[] = [];
  if (level !== undefined) {
    const override: Override = { about: 'log_level', level, ...terms };
    made.push(await putInForce(gateway, override, { action: 'log', change: `level ${level}` }));
  }
  if (oneIn !== undefined) {
    const change = `one in ${oneIn} allowed requests`;
    const override: Override = { about: 'log_allows', oneIn, ...terms };
    made.push(await putInForce(gateway, override, { action: 'log', change }));
  }
  if (made.length > 0) return { overrides: made };
  throw new OperationError('invalid', 'nothing to change: set level, allows_one_in or both');
}

export async function restoreLog(
  gateway: Gateway,
  { by = 'unknown' }: Input<'restoreLog'>,
): Promise<Record<string, never>> {
  await audited(gateway, { action: 'log', change: 'as at the start', by }, async () => {
    const removed: boolean[] = [];
    for (const subject of LOG_SUBJECTS) removed.push(await gateway.overrides.remove(subject, by));
    if (removed.includes(true)) return;
    throw new OperationError('not_found', 'there is no override for the log');
  });
  return {};
}
