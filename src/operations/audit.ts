/** The audit log: every change, also one that Redis did not confirm, and that may hold all the same. */
import { StoreError } from '../core/store.ts';
import type { OperatorAction } from '../telemetry/telemetry.ts';
import type { Gateway } from './gateway.ts';
import { OperationError } from './operation-error.ts';
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
