/** Makes changes, each with a line of the audit log, also if Redis did not confirm it and it may hold all the same. */
import { parseDuration } from '../config/rate.ts';
import { StoreError, type StoreErrorReason } from '../core/counting/store.ts';
import { DAY_MS } from '../core/identity/salts.ts';
import type { Override, Terms } from '../stores/overrides/override.ts';
import type { OperatorAction } from '../telemetry/operators.ts';
import { OperationError } from './operation-error.ts';
import type { Input } from './operation-table.ts';
import { overrideReport } from './override-report.ts';
import type { Gateway } from './running-gateway.ts';
import type { OverrideReport } from './schemas/overrides.ts';
import { storeErrorText } from './store-text.ts';

export type Change = Pick<OperatorAction, 'action' | 'change'> & Partial<OperatorAction>;

/** Makes a change and logs it. Rejects with an OperationError if the store did not confirm the change. */
export async function audited<T>(
  { audit, policies }: Gateway,
  change: Change,
  make: () => Promise<T>,
) {
  const line = {
    subject: undefined,
    client_id: policies.current.listedClients.get(String(change.subject))?.id,
    until: undefined,
    reason: undefined,
    by: 'unknown',
    ...change,
  };
  try {
    const made = await make();
    audit(line, true);
    return made;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const refused = REFUSALS.includes(error.reason);
    const outcome = refused ? 'refused' : 'not confirmed';
    audit({ ...line, change: `${line.change} (${outcome} by Redis: ${error.reason})` }, false);
    const consequence = refused
      ? 'nothing was changed'
      : 'the change may or may not have been made; it is safe to try again';
    throw new OperationError('store_unavailable', `${storeErrorText(error)}: ${consequence}`, {
      cause: error,
    });
  }
}

interface OverrideChange extends Pick<Change, 'action' | 'subject' | 'change'> {
  readonly followUp?: () => Promise<void>;
}

/** Stores an override, then makes what follows from it, as one change. Rejects as `audited` does. */
export async function putInForce(
  gateway: Gateway,
  override: Override,
  { followUp, ...change }: OverrideChange,
): Promise<OverrideReport> {
  const report = overrideReport(override, gateway.policies.current.listedClients);
  const { until, reason, by } = report;
  await audited(gateway, { ...change, until, reason, by }, async () => {
    await gateway.overrides.write(override);
    await followUp?.().catch(unconfirmed);
  });
  return report;
}

/** The override is in force already, so a refusal of what follows does not mean that nothing was changed. */
function unconfirmed(error: unknown): never {
  if (!(error instanceof StoreError)) throw error;
  throw new StoreError('connection', error.message, { cause: error });
}

const LONGEST_MS = 31 * DAY_MS;

/** Throws an OperationError for a duration that cannot be read or is too long. */
export function termsOf(
  { for: duration, reason, by = 'unknown' }: Pick<Input<'block'>, 'for' | 'reason' | 'by'>,
  nowMs: number,
): Terms {
  try {
    const ms = parseDuration(duration);
    if (ms > LONGEST_MS) {
      throw new RangeError('must be at most 31d; write permanent changes into the policy file');
    }
    return { sinceMs: nowMs, untilMs: nowMs + ms, reason, by };
  } catch (error) {
    throw new OperationError('invalid', `for: ${(error as Error).message}`);
  }
}

/** Redis refused the request, so nothing changed. After any other failure the reply may only have been late or lost. */
const REFUSALS: readonly StoreErrorReason[] = [
  'refused',
  'overloaded',
  'given_up',
  'loading',
  'readonly',
  'oom',
  'misconf',
  'busy',
  'clusterdown',
  'nolua',
  'noperm',
  'wrongpass',
];
