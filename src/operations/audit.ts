/** The audit log: every change, also one that Redis did not confirm, and that may hold all the same. */
import { StoreError } from '../core/store.ts';
import type { OperatorAction } from '../telemetry/events/operator-events.ts';
import { OperationError } from './operation-error.ts';
import type { Override } from './override.ts';
import { type OverrideReport, overrideReport } from './override-report.ts';
import type { Gateway } from './running-gateway.ts';
import { isRefusal, troubleText } from './store-trouble.ts';

export type Change = Pick<OperatorAction, 'action' | 'change'> & Partial<OperatorAction>;

/** Rejects with an OperationError for a change that the store did not confirm. */
export async function audited<T>({ audit }: Gateway, change: Change, act: () => Promise<T>) {
  const told = {
    subject: undefined,
    until: undefined,
    reason: undefined,
    by: 'unknown',
    ...change,
  };
  try {
    const done = await act();
    audit(told);
    return done;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const refused = isRefusal(error);
    const outcome = refused ? 'refused' : 'not confirmed';
    audit({ ...told, change: `${told.change} (${outcome} by Redis: ${error.reason})` });
    const state = refused
      ? 'nothing was changed'
      : 'the change may or may not have been made, and can be tried again';
    throw new OperationError('store_unavailable', `${troubleText(error)}: ${state}`, {
      cause: error,
    });
  }
}

/** Writes an override down, and does what follows from it, as one change. Rejects as above. */
export async function putInForce(
  gateway: Gateway,
  override: Override,
  told: Pick<Change, 'action' | 'subject' | 'change'>,
  andThen?: () => Promise<void>,
): Promise<OverrideReport> {
  const report = overrideReport(override);
  const { until, reason, by } = report;
  await audited(gateway, { ...told, until, reason, by }, async () => {
    await gateway.overrides.write(override);
    await andThen?.();
  });
  return report;
}
